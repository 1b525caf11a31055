"""Credentials are redacted, and what is none stays."""

import random
import string

import pytest

from syntropy.contract.secrets import redact
from tests.conftest import DATA

_RANDOM = random.Random(20)


def some(alphabet, length):
    """Made anew, so that no file holds anything that looks like a credential."""
    return "".join(_RANDOM.choice(alphabet) for _ in range(length))


ANY = string.ascii_letters + string.digits
UPPER, HEX, LOWER = string.ascii_uppercase + string.digits, "0123456789abcdef", string.ascii_lowercase + string.digits

FORMATS = [
    "AKIA" + some(UPPER, 16), "ASIA" + some(UPPER, 16), "ghp_" + some(ANY, 36), "gho_" + some(ANY, 36), "ghs_" + some(ANY, 36),
    "github_pat_" + some(ANY, 60), "glpat-" + some(ANY, 20), "glrt-" + some(ANY, 20), "xoxb-" + some(string.digits, 12) + "-" + some(ANY, 24),
    "xapp-1-" + some(ANY, 40), "AIza" + some(ANY, 35), "ya29." + some(ANY, 60), "GOCSPX-" + some(ANY, 28), "sk_live_" + some(ANY, 24),
    "rk_test_" + some(ANY, 24), "whsec_" + some(ANY, 32), "sk-ant-" + "api03-" + some(ANY, 80), "sk-proj-" + some(ANY, 48), "sk-" + some(ANY, 48),
    "hf_" + some(ANY, 34), "gsk_" + some(ANY, 52), "r8_" + some(ANY, 37), "npm_" + some(ANY, 36), "pypi-" + some(ANY, 90),
    "rubygems_" + some(HEX, 48), "dckr_pat_" + some(ANY, 27), "SG." + some(ANY, 22) + "." + some(ANY, 43), "key-" + some(HEX, 32),
    some(HEX, 32) + "-us12", "SK" + some(HEX, 32), some("123456789", 9) + ":AA" + some(ANY, 33),
    "eyJ" + some(ANY, 30) + ".eyJ" + some(ANY, 60) + "." + some(ANY, 43), "dop_v1_" + some(HEX, 64), "secret_" + some(ANY, 43),
    "figd_" + some(ANY, 40), "pat" + some(ANY, 14) + "." + some(HEX, 64), "ATATT3" + some(ANY, 180), "ATBB" + some(ANY, 32), "shpat_" + some(HEX, 32),
    "sq0csp-" + some(ANY, 43), "dapi" + some(HEX, 32), "glsa_" + some(ANY, 32) + "_" + some(HEX, 8), "NRAK-" + some(UPPER, 27),
    "sntrys_" + some(ANY, 90), "hvs." + some(ANY, 90), some(ANY, 14) + ".atlasv1." + some(ANY, 67), "pul-" + some(HEX, 40),
    "pscale_tkn_" + some(ANY, 43), "sbp_" + some(HEX, 40), "nfp_" + some(ANY, 36), "dp.pt." + some(ANY, 43), "lin_api_" + some(ANY, 40),
    "PMAK-" + some(HEX, 24) + "-" + some(HEX, 34), "LTAI" + some(ANY, 20), "AGE-SECRET-KEY-1" + some(UPPER, 58),
]  # fmt: skip
IN_CONTEXT = [
    ("postgres://app:{}@db.internal:5432/main", some(ANY, 16)),
    ('DB_PASSWORD="{}"', some(ANY + "!#%", 16)),
    ("aws_secret_access_key = {}", some(ANY + "/+", 40)),
    ("Authorization: Bearer {}", some(ANY, 40)),
    ("client_secret: {}", some(ANY, 32)),
    ("DefaultEndpointsProtocol=https;AccountKey={}", some(ANY, 86) + "=="),
    ("https://hooks.slack.com/services/{}", "T" + some(UPPER, 8) + "/B" + some(UPPER, 8) + "/" + some(ANY, 24)),
    ("https://discord.com/api/webhooks/{}", some(string.digits, 18) + "/" + some(ANY, 60)),
]


def test_sixty_formats():
    cases = [("value {} here", value) for value in FORMATS] + IN_CONTEXT
    assert len(cases) >= 60
    missed = [case.format("…") + value[:8] for case, value in cases if value in redact(case.format(value))[0]]
    assert missed == []


def test_private_keys_keep_their_lines():
    body = "\n".join(some(ANY, 64) for _ in range(5))
    text = f"a\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nb\n"
    redacted, findings = redact(text)
    assert body not in redacted
    assert redacted.count("\n") == text.count("\n")
    assert redacted.endswith("\nb\n")
    assert [(f.rule, f.line) for f in findings] == [("private-key", 2)]


def test_findings_name_rule_and_line_and_never_the_value():
    value = "ghp_" + some(ANY, 36)
    redacted, findings = redact(f"one\ntwo {value}\n")
    assert redacted == "one\ntwo [REDACTED:github-token]\n"
    assert [(f.rule, f.line) for f in findings] == [("github-token", 2)]
    assert value not in str(findings)


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "password: ${DB_PASSWORD}",
        "token = os.environ['TOKEN']",
        "api_key: your-api-key-here",
        "secret: my_secret_value_123",
        "the token bucket refills: slowly",
        "password = <password>",
        "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "nextToken: eyxhbGciOiJIUzI1NiIsInR5cCI6",
        "https://example.com/path:80@2",
        "Basic troubleshooting-information for all",
        "a bearer authentication-and-authorization scheme",
    ],
)
def test_what_is_none(text):
    assert redact(text) == (text, [])


def test_a_bot_token_in_an_address():
    token = some("123456789", 10) + ":AA" + some(ANY, 33)
    redacted, findings = redact(f"curl https://api.telegram.org/bot{token}/getMe")
    assert token not in redacted
    assert [f.rule for f in findings] == ["telegram-token"]


def test_the_allow_list():
    value = "ghp_" + some(ANY, 36)
    assert redact(value, ["ghp_*"]) == (value, [])


@pytest.mark.corpora
def test_false_alarms_on_real_documentation():
    folder = DATA / "retrieval/aws-docs-small"
    if not folder.is_dir():
        pytest.skip("no ../shared/data")
    import json

    texts = [json.loads(line)["text"] for line in (folder / "corpus.jsonl").open()]
    assert sum(bool(redact(text)[1]) for text in texts) < len(texts) * 0.02


@pytest.mark.parametrize(
    "text",
    [
        "client_secret: {}",
        "clientSecret: '{}'",
        "CLIENT_SECRET={}",
        "missing-ghp_{}.md",
        "Server=db;User Id=sa;Password={};",
        "- name: DB_PASSWORD\n  value: {}",
        "<password>{}</password>",
        "| DB password | `{}` |",
        "curl -u admin:{} https://host/",
        "mysql -u root -p{} db",
    ],
)
def test_places_that_were_missed(text):
    value = some(ANY, 36)
    redacted, findings = redact(text.format(value))
    assert value not in redacted
    assert len(findings) == 1


EXAMPLES = (
    'url = "postgres://loader:loader@localhost:5432/x"',
    'url = "mongodb://dbuser:passwd@host.or.ip:27017"',
    "amqp://guest:guest@localhost:5672",
    "mssql://sa:Strong%21Passw0rd@localhost:1433/x",
    'password = "TempPass123!"',
    'password: "P@ssw0rd123!"',
    'password = "Dlt*12345789234567"',
    'aws_access_key_id = "JFJ$$*f2058024835jFffsadf"',
    'aws_secret_access_key = "DFJdwslf2hf57)%$02jaflsedjfasoi"',
    "open http://localhost:2718?access_token=Qfo_Hj2RbXqiqM4VT3XOwA",
    "https://hooks.slack.com/services/T04DHMAF13Q/B04E7B1MQ1H/TDHEI123WUEE",
    "password=(passwd|pwd|secret|api_key|apikey)",
    "token: process.env.SERVICE_TOKEN!",
    "secret:\n  resolved_key: host",
    "-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDGWsVHJRjl\n-----END PRIVATE KEY-----",
)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_of_documentation_stay(text):
    assert redact(text)[0] == text


@pytest.mark.parametrize(
    "text",
    [
        "postgres://svc:kT9vQ2xLw7@db.internal:5432/x",
        "postgres://svc:kT9vQ2xLw7@localhost:5432/x",
        'password = "kT9v!Q2xLw7z"',
        "aws_access_key_id = AKIAQ3EGRZX7PLMNB2VC",
        'aws_secret_access_key = "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"',
        "https://hooks.slack.com/services/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",
    ],
)
def test_what_could_be_real_goes(text):
    assert redact(text)[0] != text


def test_examples_are_told():
    spared = []
    redact('\npassword = "TempPass123!"\n', (), spared)
    assert [(f.rule, f.line) for f in spared] == [("assigned-secret", 2)]

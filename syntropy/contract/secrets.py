"""Credentials in texts: found by their documented forms, replaced before anything is stored or embedded.

Most services give their keys a prefix of their own so that scanners find them; the rest is found by the
name it is assigned to. A value that says it is an example is not one. Only names of rules and lines are ever
reported, never a value.
"""

from __future__ import annotations

import base64
import fnmatch
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from .vocabulary import REDACTED


class Finding(NamedTuple):
    """A rule and the line (from 1) where it matched."""

    rule: str
    line: int


MIN_SWITCHES = 5
"""Changes between upper and lower case that letters alone must have; names in camel case have fewer."""

MIN_ENTROPY = 3.0
"""Bits a character that a value found only by its name must have; English words have less."""

_PREFIXED: tuple[tuple[str, str, str], ...] = (
    ("aws-access-key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    (
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}",
    ),
    ("gitlab-token", "gl", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-[\w-]{20,}"),
    ("slack-token", "xox xapp-", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"),
    ("google-api-key", "AIza", r"AIza[\w-]{35}"),
    ("google-oauth", "ya29. GOCSPX-", r"ya29\.[\w-]{20,}|GOCSPX-[\w-]{28}"),
    ("stripe-key", "_live_ _test_ whsec_", r"(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,}|whsec_[A-Za-z0-9+/=]{24,}"),
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}"),
    ("openai-key", "sk-", r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}"),
    ("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("ai-provider-key", "r8_ gsk_ pplx- xai- nvapi- fw_", r"(?:r8_|gsk_|pplx-|xai-|nvapi-|fw_)[A-Za-z0-9_-]{32,}"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("pypi-token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
    ("rubygems-token", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("docker-token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{24,}"),
    ("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("mailgun-key", "key-", r"key-[0-9a-f]{32}"),
    ("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    ("twilio-key", "SK", r"SK[0-9a-f]{32}"),
    ("discord-token", "discord Discord DISCORD", r"[MNO][A-Za-z0-9_-]{23,25}\.[\w-]{6}\.[\w-]{27,}"),
    ("telegram-token", ":AA", r"\d{8,10}:AA[\w-]{33}"),
    ("json-web-token", "eyJ", r"eyJ[\w-]{10,1000}\.eyJ[\w-]{10,8000}\.[\w-]{10,2000}"),
    ("digitalocean-token", "_v1_", r"do[ort]?p?_v1_[a-f0-9]{64}"),
    ("notion-token", "secret_ ntn_", r"secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,}"),
    ("figma-token", "figd_", r"figd_[\w-]{30,}"),
    ("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("atlassian-token", "ATATT3 ATBB ATCTT3", r"ATATT3[\w=-]{60,}|ATBB[A-Za-z0-9]{24,}|ATCTT3[\w=-]{60,}"),
    ("heroku-key", "HRKU-", r"HRKU-[\w-]{30,}"),
    ("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("square-token", "sq0 EAAA", r"sq0(?:atp|csp|idp)-[\w-]{22,}|EAAA[\w-]{60}"),
    ("facebook-token", "EAA", r"EAA[A-Z][A-Za-z0-9]{80,}"),
    ("databricks-token", "dapi", r"dapi[a-f0-9]{32}"),
    ("grafana-token", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    ("newrelic-key", "NRAK- NRJS- NRII-", r"NR(?:AK|JS|II)-[A-Za-z0-9-]{19,}"),
    ("sentry-token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,}"),
    ("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    ("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    ("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,}"),
    ("supabase-token", "sbp_ sbt_ sb_secret_", r"sb[pt]_[a-f0-9]{40}|sb_secret_[\w-]{24,}"),
    ("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36,}"),
    ("fly-token", "fo1_ fm2_", r"fo1_[\w-]{40,}|fm2_[A-Za-z0-9+/=]{40,}"),
    ("doppler-token", "dp.", r"dp\.(?:pt|st|ct|scim|audit)\.(?:[\w-]+\.)?[A-Za-z0-9]{40,}"),
    ("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("contentful-token", "CFPAT-", r"CFPAT-[\w-]{43}"),
    ("hubspot-token", "pat-na pat-eu", r"pat-(?:na|eu)\d-[a-f0-9-]{36}"),
    ("typeform-token", "tfp_", r"tfp_[\w-]{40,}"),
    ("alibaba-key", "LTAI", r"LTAI[A-Za-z0-9]{16,24}"),
    ("tencent-key", "AKID", r"AKID[A-Za-z0-9]{32}"),
    ("mapbox-token", "sk.eyJ", r"sk\.eyJ[\w-]{20,}\.[\w-]{20,}"),
    ("dropbox-token", "sl.", r"sl\.[A-Za-z0-9_-]{100,}"),
    ("jfrog-key", "AKC", r"AKC[a-zA-Z0-9]{60,}"),
    ("azure-secret", "8Q~", r"[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,34}"),
    ("age-key", "AGE-SECRET-KEY-1", r"(?<=AGE-SECRET-KEY-)1[A-Z0-9]{58}"),
    ("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}"),
    ("easypost-key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}"),
    ("flutterwave-key", "FLWSECK", r"FLWSECK[_-](?:TEST|LIVE)?-?[a-zA-Z0-9]{12,}"),
    ("prefect-token", "pnu_ pnb_", r"pn[ub]_[a-z0-9]{36}"),
    ("readme-key", "rdme_", r"rdme_[a-z0-9]{70}"),
)
"""Rule, texts one of which must occur (a search for them is much faster than the pattern), pattern."""

_RULES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    *(
        (name, tuple(marks.split()), re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=/bot))(?P<value>{pattern})(?!\w)"))
        for name, marks, pattern in _PREFIXED
    ),
    (
        "private-key",
        ("PRIVATE KEY",),
        re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?P<value>[\s\S]{20,8000}?)-----END"),
    ),
    (
        "webhook-url",
        ("hooks.slack.com/", "/api/webhooks/", "/webhookb2/"),
        re.compile(
            r"(?:hooks\.slack\.com/(?=(?:services|workflows)/\w+/\w+/\w{20})(?:services|workflows)/|"
            r"discord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/webhookb2/)(?P<value>[\w@./-]{20,300})"
        ),
    ),
    ("url-password", ("://",), re.compile(r"://[^\s:/@'\"<>]{0,100}:(?P<value>[^\s@'\"/<>]{3,200})@")),
    (
        "authorization-header",
        ("Bearer ", "bearer ", "Basic ", "basic "),
        re.compile(r"\b(?:[Bb]earer|[Bb]asic) {1,3}(?=[a-z._/-]{0,2000}[A-Z0-9+~])(?P<value>[\w.~+/-]{20,2000}={0,2})"),
    ),
    (
        "curl-password",
        ("curl ",),
        re.compile(r"\bcurl [^\n]{0,200}?(?:-u|--user)[ =]\S{1,60}?:(?P<value>[^\s\"']{8,200})"),
    ),
    ("mysql-password", ("mysql",), re.compile(r"\bmysql\w* [^\n]{0,200}? -p(?P<value>[^\s\"']{8,200})")),
    (
        "azure-storage-key",
        ("AccountKey=", "SharedAccessKey="),
        re.compile(r"(?:Account|SharedAccess)Key=(?P<value>[A-Za-z0-9+/]{40,90}={0,2})"),
    ),
    (
        "url-signature",
        ("sig=", "X-Amz-Signature="),
        re.compile(r"[?&](?:sig|X-Amz-Signature)=(?P<value>[A-Za-z0-9%+/]{30,200})"),
    ),
)

_ASSIGNED = re.compile(
    r"(?i:passw|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|account[_-]?key|private[_-]?key)"
    r"[\w-]{0,20}(?<!Path)(?<!path)(?<!File)(?<!file)(?<!List)(?<!Arn)(?<!ARN)(?<!Name)(?<!name)[\"'`]?[ \t]{0,3}"
    r"(?:=>|:=|[:=|>]|[\"\']?,?\n\s{0,40}[\"\']?value[\"\']?:)[ \t]{0,3}"
    r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;(){}<>\[\]]{8,200})"
)
"""A value behind a name that says what it is; judged by `_looks_secret`."""

_NAMING = ("passw", "passphrase", "pwd", "secret", "token")
_BEFORE_KEY = re.compile(r"(?:api|access|auth|account|private)[_-]?$")
"""What `_ASSIGNED` begins with: these words, or `key` behind one of those."""

_NO_SECRET_NAMES = re.compile(
    r"(?i)(?:next|forward|backward|page|block|client|continuation|request|cancel|idempotency|x-amz-)[_-]?$"
)
"""What stands before `token` where it is a cursor and no key."""

_HARMLESS = re.compile(
    r"(?i)example|sample|placeholder|change.?me|your|xxxx|dummy|fake|redacted|insert|replace|\.\.\.|\*\*\*|\$\{|\$\(|<|>|"
    r"0123456789|1234567890|abcdefgh|000000|foobar|password|secret[-_]?(?:key|name|value)|my[-_]"
)
_REFERENCE = re.compile(
    r"^(?:\$|%|@|#|&|!|\\|-|arn:|[a-z0-9+]+:|/|\./|[A-Za-z_]\w*(?:\??\.\w+)+!?$|[A-Za-z]+(?:[-_.:/][A-Za-z]+)*$|[a-z_]+=[a-z.]+$)"
)
_CODE = re.compile(r"process\.env|os\.environ|\w\|\w+(?:\||$)|^(?:[A-Z][A-Za-z]+/){2}")
"""What programs and patterns hold, and values do not."""

_EXAMPLE_WORDS = re.compile(
    r"(?i)pass(?:w(?:or)?d|phrase)?|secret|welcome|temp|test|strong|secure|admin|minio|change|guest|root|user|loader|"
    r"demo|default|letmein|qwerty|hunter|dev|local|new|old|my|the|postgres|mysql|mongo|redis|rabbit|abc|xyz|foo|bar|key|token"
)
"""What passwords in documentation are put together of."""

_LEET = str.maketrans("@013457$", "aoieasts")
_SAMPLE_PART = re.compile(r"(?i)abc[-_]?123|xyz[-_]?789|12345|(?:test|demo)[-_]key")
_LOCAL = re.compile(r"(?i)//(?:[^/\s@]*@)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0|host\.docker\.internal)\b")
_AWS_ID, _AWS_SECRET = re.compile(r"A[A-Z]{3}[A-Z0-9]{16}"), re.compile(r"[A-Za-z0-9/+]{40}")


def redact(text: str, allow: Sequence[str] = (), spared: list[Finding] | None = None) -> tuple[str, list[Finding]]:
    """The text with credentials replaced by `[REDACTED:rule]`, and what was found, in order.

    `allow`: shell patterns of values that are left alone. Lines stay lines. `spared` is given what has the form of
    a credential and is an example of documentation, which stays.
    """
    spans = []
    for span in sorted(_spans(text, allow), key=lambda span: (span[0], -span[1])):
        if not _is_example(text, *span):
            spans.append(span)
        elif spared is not None:
            spared.append(Finding(span[2], text.count("\n", 0, span[0]) + 1))
    parts: list[str] = []
    findings: list[Finding] = []
    end = line = position = 0
    for start, stop, rule in spans:
        if start < end:
            continue
        line += text.count("\n", position, start)
        position = start
        findings.append(Finding(rule, line + 1))
        parts += [text[end:start], f"{REDACTED}{rule}]", "\n" * text.count("\n", start, stop)]
        end = stop
    return ("".join([*parts, text[end:]]) if findings else text), findings


def _spans(text: str, allow: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for rule, marks, pattern in _RULES:
        if not any(mark in text for mark in marks):
            continue
        for match in pattern.finditer(text):
            if not _is_harmless(match.group("value")) and not _allowed(match.group("value"), allow):
                yield *match.span("value"), rule
    for match in _assigned(text):
        value = match.group("value")
        if (
            _looks_secret(value, quoted=bool(match.group("quote")))
            and not (
                match.group(0)[:5].lower() == "token"
                and _NO_SECRET_NAMES.search(text[max(0, match.start() - 20) : match.start()])
            )
            and not _allowed(value, allow)
        ):
            yield *match.span("value"), "assigned-secret"


def _assigned(text: str) -> Iterator[re.Match[str]]:
    """As `_ASSIGNED.finditer`, at the places where one of its words stands: an eighth of the time."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter whose small form is two: places would not be the text's
        yield from _ASSIGNED.finditer(text)
        return
    starts = set()
    for word in (*_NAMING, "key"):
        place = lower.find(word)
        while place >= 0:
            if word != "key":
                starts.add(place)
            elif before := _BEFORE_KEY.search(lower, max(0, place - 8), place):
                starts.add(before.start())
            place = lower.find(word, place + 1)
    end = 0
    for start in sorted(starts):
        if start >= end and (match := _ASSIGNED.match(text, start)):
            yield match
            end = match.end()


def _is_example(text: str, start: int, stop: int, rule: str) -> bool:
    """Is what was found an example: a password made of such words, a key that cannot be one, one for this machine?"""
    value = text[start:stop]
    line = text[max(text.rfind("\n", 0, start) + 1, start - 300) : start]
    if rule == "private-key":
        return not _is_whole_key(value)
    if rule == "url-password":
        user = re.split(r"[/\s\"'`]", line)[-1].rstrip(":")
        host = re.match(r"@([\w.-]+)", text[stop : stop + 200])
        same = unquote(user) == unquote(value)
        return same or _is_made_of_words(value) or (host is not None and _SAMPLE_PART.search(value) is not None)
    if rule not in ("assigned-secret", "authorization-header", "curl-password", "mysql-password"):
        return False
    if _SAMPLE_PART.search(value) or _LOCAL.search(line[line.rfind(" ") + 1 :]):
        return True
    if re.search(r"(?i)aws_access_key_id\W{0,6}$", line):
        return _AWS_ID.fullmatch(value) is None
    if re.search(r"(?i)aws_secret_access_key\W{0,6}$", line):
        rest = re.match(r"[^\s\"'`]*", text[start : start + 200])
        return rest is not None and _AWS_SECRET.fullmatch(rest.group(0)) is None
    return rule == "assigned-secret" and _is_made_of_words(value)


def _is_made_of_words(value: str) -> bool:
    """`TempPass123!`, `P@ssw0rd`, `passwd`: words that passwords in documentation are made of, a number, a mark."""
    bare = re.sub(r"[\W_]+$|\d{1,4}[\W_]*$", "", unquote(value.partition("&")[0]))
    for spelled in (bare, bare.translate(_LEET)):
        if spelled and not re.sub(r"[\W_\d]", "", _EXAMPLE_WORDS.sub("", spelled)):
            return True
    return False


def _is_whole_key(value: str) -> bool:
    """Does the body of a private key hold as many bytes as it says? Documentation cuts its samples."""
    body = "".join(re.sub(r"\\[nr]", "", part) for part in value.split() if ":" not in part)
    if not re.fullmatch(r"[A-Za-z0-9+/]{16,}={0,2}", body):
        return "..." not in value and "\u2026" not in value  # another form, such as PGP's: taken as whole
    try:
        data = base64.b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return False
    if data[:1] != b"\x30" or len(data) < 4:
        return True  # not DER: OpenSSH's own form
    if data[1] < 0x80:
        return len(data) >= 2 + data[1]
    size = data[1] & 0x7F
    return size > 4 or len(data) >= 2 + size + int.from_bytes(data[2 : 2 + size], "big")


def _allowed(value: str, allow: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(value, pattern) for pattern in allow)


def _is_harmless(value: str) -> bool:
    """Says of itself that it is not a credential, or is made of very few different characters."""
    return _HARMLESS.search(value) is not None or len(set(value)) < 5


def _looks_secret(value: str, *, quoted: bool) -> bool:
    """Random enough for a value found only by its name: letters and digits mixed, no word, no reference."""
    if (
        _CODE.search(value)
        or _is_harmless(value)
        or (_REFERENCE.match(value) and not (value.isalpha() and _switches(value) >= MIN_SWITCHES))
    ):
        return False
    has_digit, has_letter = any(c.isdigit() for c in value), any(c.isalpha() for c in value)
    mixed = has_digit or not value.isalnum() or _switches(value) >= MIN_SWITCHES
    if not has_letter or not mixed:
        return False
    return entropy(value) >= (MIN_ENTROPY if quoted else MIN_ENTROPY + 0.3)


def _switches(value: str) -> int:
    """How often upper and lower case change."""
    return sum(a.islower() != b.islower() for a, b in pairwise(value))


def entropy(value: str) -> float:
    """Shannon entropy in bits a character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())

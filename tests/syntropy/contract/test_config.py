import tomllib

import pytest

from syntropy.contract.config import Config, find_project, load_config, require_project
from syntropy.contract.errors import ConfigError, ProjectNotFoundError
from syntropy.setup.scaffold import commented_config


def test_defaults_need_no_file(tmp_path):
    assert load_config(None, env={}) == Config()


def test_flags_over_environment_over_project_over_global(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(
        "[search]\nlimit = 1\nthreshold = 0.1\n[chunk]\ntarget_tokens = 100\noverlap_tokens = 5\n"
    )
    (tmp_path / "syntropy.toml").write_text("[search]\nlimit = 2\nthreshold = 0.2\n[chunk]\ntarget_tokens = 200\n")
    env = {
        "SYNTROPY_CONFIG_HOME": str(tmp_path / "home"),
        "SYNTROPY_SEARCH_LIMIT": "3",
        "SYNTROPY_SEARCH_THRESHOLD": "0.3",
    }
    found = load_config(tmp_path, env=env, flags={"search": {"limit": 4}})
    assert (found.search.limit, found.search.threshold) == (4, 0.3)
    assert (found.chunk.target_tokens, found.chunk.overlap_tokens) == (200, 5)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[serch]\nlimit = 1\n", "unknown section: 'serch'", "'search'"),
        ("[search]\nlimt = 1\n", "unknown key in [search]: 'limt'", "'limit'"),
        ("[search]\nlimit = 'x'\n", "must be an integer", ""),
        ("[search]\nlimit = true\n", "must be an integer", ""),
        ("[sources]\ndocs = 'docs'\n", "must be a list of strings", ""),
        ("[store]\nhnsw = 'sometimes'\n", "store.hnsw = 'sometimes'", "auto, always, never"),
        ("search = 3\n", "[search] must be a table", ""),
        ("[search\n", "syntropy.toml", "fix the TOML"),
        ("[chunk]\ntarget_tokens = 8\n", "at least 32", ""),
        ("[chunk]\noverlap_tokens = 400\n", "overlap_tokens", ""),
        ("[ranking]\nk1 = -4\n", "ranking.k1", ""),
        ("[ranking]\nb = nan\n", "ranking.b", ""),
        ("[ranking]\nbody = -1\n", "ranking.body = -1.0 must be at least 0", ""),
        ("[store]\nmemory_limit = 'abc'\n", "memory_limit", ""),
        ("[embed]\ndevice = 'zz'\n", "device", ""),
        ("[schedule]\ncron = 'bad'\n", "cron", ""),
        ("[paths]\nindex_copy = 'CLAUDE.md'\n", "index_copy", ""),
        ("[paths]\nindex_copy = '../x.json'\n", "index_copy", ""),
    ],
)
def test_what_cannot_be_followed_is_an_error_with_the_fix(tmp_path, text, message, hint):
    (tmp_path / "syntropy.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path, env={})
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_environment_lists_booleans_and_unknown_names():
    env = {"SYNTROPY_SOURCES_DOCS": "a/**, b.md", "SYNTROPY_EMBED_ENABLED": "no"}
    found = load_config(None, env=env)
    assert found.sources.docs == ("a/**", "b.md")
    assert found.embed.enabled is False
    with pytest.raises(ConfigError, match="SYNTROPY_SEARCH_LIMIIT"):
        load_config(None, env={"SYNTROPY_SEARCH_LIMIIT": "1"})
    with pytest.raises(ConfigError, match="not a number"):
        load_config(None, env={"SYNTROPY_SEARCH_LIMIT": "many"})


def test_the_project_is_found_by_walking_up(tmp_path):
    (tmp_path / "syntropy.toml").touch()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert find_project(tmp_path / "a" / "b") == tmp_path
    with pytest.raises(ProjectNotFoundError, match="syntropy init"):
        require_project(tmp_path.parent)


def test_the_scaffold_names_every_key_and_is_valid_either_way(tmp_path):
    text = commented_config(["docs"])
    assert load_config(None, flags=tomllib.loads(text), env={}) == Config()
    uncommented = "\n".join(line[2:] if line.startswith("# ") and " = " in line else line for line in text.splitlines())
    assert load_config(None, flags=tomllib.loads(uncommented), env={}) == Config()
    for section in ("[search]", "[embed]", "# window_tokens = 128", '# hnsw = "auto"'):
        assert section in text

"""Context packages with real git repositories: install, update, refuse, push, build at the locked commit."""

import json
import os
import subprocess
import sys
import time
from datetime import date

import pytest

import syntropy
from pipeline.packages import manage
from pipeline.packages.checkout import LocalChangesError
from pipeline.packages.git import GitError, check_address, git
from pipeline.packages.manifest import load_packages, posix_path
from pipeline.packages.registry import RegistryError, check_public, read_menu
from syntropy.cli.main import main
from syntropy.contract.config import load_config
from syntropy.contract.errors import ConfigError, DocumentNotFoundError, UsageError
from tests.quick import build

NOW = "2026-11-22T00:00:00Z"


def run(folder, *arguments):
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder, message="change"):
    run(folder, "add", "--all")
    run(folder, "commit", "--quiet", "-m", message)
    return run(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def upstream(tmp_path):
    """A repository with docs/, other/ and everything a hostile one may hold."""
    folder = tmp_path / "hub"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "retry.md").write_text("# Retry budgets\n\nA budget bounds retries of parcels.\n")
    (folder / "docs" / "guide.md").write_text("# Guide\n\nSee [retry](retry.md).\n")
    (folder / "other").mkdir()
    (folder / "other" / "x.md").write_text("# Other\n\nNot below docs.\n")
    run(folder.parent, "init", "--quiet", str(folder))
    run(folder, "config", "uploadpack.allowFilter", "true")
    run(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    commit(folder, "first")
    return folder


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, value in (("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig")), ("GIT_CONFIG_SYSTEM", os.devnull)):
        monkeypatch.setenv(name, value)
    (tmp_path / "gitconfig").write_text("[user]\nname = T\nemail = t@example.org\n")
    root = tmp_path / "project"
    root.mkdir()
    (root / "syntropy.toml").write_text("[git]\nallow_file = true\n[embed]\nenabled = false\n")
    (root / "README.md").write_text("# Project\n\nOurs.\n")
    return root


def state(root):
    config = load_config(root)
    return load_packages(root, config), config


def added(root, upstream, **options):
    packages, config = state(root)
    return manage.add(packages, config, upstream.as_uri(), now=NOW, **options)


def test_add_installs_one_folder_and_writes_nocaaps_files(project, upstream):
    _, outcome = added(project, upstream, path="docs", alias="hub")
    assert outcome.state == "installed"
    checkout = project / ".context/packages/hub"
    assert (checkout / "docs/retry.md").is_file()
    assert not (checkout / "other").exists()
    wanted = json.loads((project / ".context/context.config.json").read_text())
    assert wanted == {"packages": [{"alias": "hub", "source": upstream.as_uri(), "path": "docs"}]}
    lock = json.loads((project / ".context/context.lock").read_text())
    assert lock == {"hub": {"commitHash": outcome.commit, "sparsePath": "docs", "updatedAt": NOW}}


def test_the_build_reads_the_locked_commit_and_cites_it(project, upstream):
    _, outcome = added(project, upstream, path="docs", alias="hub")
    (project / ".context/packages/hub/docs/retry.md").write_text("# Edited here\n")
    build(project)
    with syntropy.open(project) as knowledge:
        found = knowledge.search("retry budgets", mode="fast").hits[0]
        assert str(found.citation).startswith(f"hub@{outcome.commit[:12]}:docs/retry.md#L1")
        assert found.title == "Retry budgets"
        assert not knowledge.search("edited here", mode="fast", packages=["hub"]).hits
        assert {h.citation.package for h in knowledge.search("parcels", packages=["hub"], mode="fast").hits} == {"hub"}
        related = knowledge.document("docs/guide.md", package="hub").related
        assert ("links_to", "docs/retry.md", "markdown-link") in related
    script = [sys.executable, "-I", str(project / "build/query.py"), "retry budgets"]
    assert (
        f"hub@{outcome.commit[:12]}:docs/retry.md#L1" in subprocess.run(script, capture_output=True, text=True).stdout
    )


def test_update_moves_with_its_upstream_and_the_documents_with_it(project, upstream):
    added(project, upstream, path="docs", alias="hub")
    build(project)
    (upstream / "docs" / "new.md").write_text("# Parking rules\n\nWhere vans may stand.\n")
    tip = commit(upstream)
    packages, config = state(project)
    _, outcomes = manage.update(packages, config, [], force=False, now=NOW)
    assert [(o.state, o.commit) for o in outcomes] == [("updated", tip)]
    build(project)
    with syntropy.open(project) as knowledge:
        hits = knowledge.search("parking rules retry", mode="fast").hits
        assert {h.citation.commit for h in hits} == {tip[:12]}


def test_an_unchanged_update_asks_once_and_fetches_nothing(project, upstream, monkeypatch):
    added(project, upstream, path="docs", alias="hub")
    from pipeline.packages import checkout

    called = []
    monkeypatch.setattr(checkout, "git", lambda *a, **k: called.append(a[0]) or git(*a, **k))
    packages, config = state(project)
    _, outcomes = manage.update(packages, config, ["hub"], force=False, now=NOW)
    assert [o.state for o in outcomes] == ["unchanged"]
    assert called == ["ls-remote"]


def test_a_changed_path_is_drift(project, upstream):
    added(project, upstream, path="docs", alias="hub")
    place = project / ".context/context.config.json"
    place.write_text(place.read_text().replace('"docs"', '"other"'))
    packages, config = state(project)
    _, outcomes = manage.update(packages, config, [], force=False, now=NOW)
    assert [o.state for o in outcomes] == ["updated"]
    assert (project / ".context/packages/hub/other/x.md").is_file()


def test_branches_tags_and_commits(project, upstream):
    first = run(upstream, "rev-parse", "HEAD").strip()
    run(upstream, "tag", "-a", "v1", "-m", "v1")
    (upstream / "docs/later.md").write_text("# Later\n")
    commit(upstream)
    run(upstream, "branch", "stable", first)
    for alias, version in (("a", "v1"), ("b", "stable"), ("c", first)):
        assert added(project, upstream, alias=alias, version=version)[1].commit == first
    assert not (project / ".context/packages/a/docs/later.md").exists()
    with pytest.raises(GitError, match="no version"):
        added(project, upstream, alias="d", version="nowhere")


@pytest.mark.parametrize("work", ["changed", "untracked", "ignored", "stash", "commit", "hidden"])
def test_local_work_is_never_lost(project, upstream, work):
    (upstream / ".gitignore").write_text("*.tmp\n")
    commit(upstream)
    added(project, upstream, alias="hub")
    folder = project / ".context/packages/hub"
    place = folder / {"untracked": "docs/mine.md", "ignored": "docs/mine.tmp"}.get(work, "docs/retry.md")
    place.write_text("mine\n")
    if work == "stash":
        run(folder, "stash")
    if work == "commit":
        commit(folder)
    if work == "hidden":
        run(folder, "update-index", "--assume-unchanged", "docs/retry.md")
    (upstream / "docs/later.md").write_text("# Later\n")
    commit(upstream)
    packages, config = state(project)
    _, outcomes = manage.update(packages, config, [], force=True, now=NOW)
    assert outcomes[0].state == "failed"
    assert "nothing was touched" in outcomes[0].note
    if work != "stash":
        assert place.read_text() == "mine\n"
    with pytest.raises(LocalChangesError):
        manage.remove(packages, config, "hub", force=False)


def test_push_makes_a_branch_upstream_and_update_goes_on(project, upstream):
    added(project, upstream, alias="hub")
    (project / ".context/packages/hub/docs/retry.md").write_text("# Retry budgets\n\nFixed.\n")
    packages, config = state(project)
    branch, hint = manage.push(packages, config, "hub", "Fix it", today=date(2026, 11, 22))
    assert branch == "syntropy/hub-2026-11-22"
    assert branch in hint
    assert "Fixed." in run(upstream, "show", f"{branch}:docs/retry.md")
    (upstream / "docs/later.md").write_text("# Later\n")
    commit(upstream)
    _, outcomes = manage.update(packages, config, [], force=False, now=NOW)
    assert outcomes[0].state == "updated"


def test_push_refuses_when_upstream_has_moved(project, upstream):
    added(project, upstream, alias="hub")
    (project / ".context/packages/hub/docs/retry.md").write_text("mine\n")
    (upstream / "docs/later.md").write_text("# Later\n")
    commit(upstream)
    packages, config = state(project)
    with pytest.raises(LocalChangesError, match="moved"):
        manage.push(packages, config, "hub", "x", today=date(2026, 11, 22))


def test_pull_request_pages():
    assert manage.pull_request_hint("git@github.com:a/b.git", "s/x") == "https://github.com/a/b/compare/s/x?expand=1"
    assert "merge_requests/new" in manage.pull_request_hint("https://gitlab.example.org/a/b", "x")
    assert "open a pull request" in manage.pull_request_hint("https://git.example.org/a/b", "x")


def test_a_dead_upstream_keeps_the_last_good_version(project, upstream):
    added(project, upstream, alias="hub")
    upstream.rename(upstream.with_name("gone"))
    packages, config = state(project)
    _, outcomes = manage.update(packages, config, [], force=False, now=NOW)
    assert outcomes[0].state == "failed"
    assert "kept at" in outcomes[0].note
    build(project)
    with syntropy.open(project) as knowledge:
        assert knowledge.search("retry budgets", mode="fast").hits


def test_a_failed_add_lists_nothing(project, tmp_path):
    packages, config = state(project)
    with pytest.raises(GitError):
        manage.add(packages, config, (tmp_path / "nowhere").as_uri(), now=NOW)
    assert state(project)[0].wanted == ()


@pytest.mark.parametrize(
    "address",
    [
        "--upload-pack=touch /tmp/x",
        "ext::sh -c touch% /tmp/x",
        "http://example.org/a.git",
        "https://user:secret@example.org/a.git",
        "file:///etc",
        "/etc",
        "fd::17",
        "git@host:-x\n",
    ],
)
def test_addresses_that_are_refused(address):
    with pytest.raises(UsageError):
        check_address(address, allow_file=False)


@pytest.mark.parametrize("address", ["https://github.com/a/b.git", "git@github.com:a/b.git", "ssh://git@host:22/a/b"])
def test_addresses_that_are_allowed(address):
    assert check_address(address, allow_file=False) == address


def test_paths_are_posix_and_inside():
    assert posix_path("docs\\api\\") == "docs/api"
    assert posix_path("./docs//x/") == "docs/x"
    for bad in ("../x", "a/../../b", "C:\\x"):
        with pytest.raises(UsageError):
            posix_path(bad)


def test_a_file_whose_name_holds_a_credential_is_named_without_it(project, upstream):
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    (upstream / f"docs/{key}.md").write_text("# Key\n\nUnder its own name.\n")
    commit(upstream)
    added(project, upstream, path="docs", alias="hub")
    found = build(project)
    (problem,) = [p for p in found.problems if p.code == "secret"]
    assert key not in f"{problem.path}{problem.message}{problem.hint}"
    for path in (project / "build").rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes(), path


def test_a_hostile_repository(project, upstream):
    """Links, submodules, hooks, large files and odd names: nothing executed, nothing outside read."""
    secret = project.parent / "secret.md"
    secret.write_text("# Secret of the host\n")
    (upstream / "docs/link.md").symlink_to(secret)
    (upstream / "docs/big.md").write_text("x" * 3_000_000)
    (upstream / "docs/nl\nname.md").write_text("# Newline\n")
    with open(os.fsencode(upstream / "docs") + b"/bad\xff.md", "w") as handle:
        handle.write("# Bytes\n")
    (upstream / "docs/binary.md").write_bytes(b"\0\1")
    marker = project.parent / "hooked"
    hook = upstream / ".githooks/post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    (upstream / ".gitmodules").write_text('[submodule "s"]\npath = docs/sub\nurl = ext::sh -c touch% /tmp/x\n')
    head = run(upstream, "rev-parse", "HEAD").strip()
    run(upstream, "add", "--all")
    run(upstream, "update-index", "--add", "--cacheinfo", f"160000,{head},docs/sub")
    run(upstream, "commit", "--quiet", "-m", "hostile")
    added(project, upstream, alias="hub")
    assert not marker.exists()
    build(project)
    with syntropy.open(project) as knowledge:
        assert not knowledge.search("secret of the host", mode="fast").hits
        fates = dict(knowledge.database.rows("SELECT path, reason FROM sources WHERE package = 'hub'"))
    assert fates["docs/link.md"] == "symlink"
    assert fates["docs/sub"] == "submodule"
    assert fates["docs/big.md"] == "too-large"
    assert fates["docs/binary.md"] == "binary"
    assert sorted(fates.values()).count("bad-name") == 2


def test_two_truths_are_refused(project, upstream):
    added(project, upstream, alias="hub")
    (project / "syntropy.toml").write_text(
        f'[git]\nallow_file = true\n[packages]\nother = {{ source = "{upstream.as_uri()}" }}\n'
    )
    with pytest.raises(ConfigError, match="keep one"):
        state(project)


def test_packages_of_syntropy_toml(project, upstream):
    (project / "syntropy.toml").write_text(
        f'[git]\nallow_file = true\n[embed]\nenabled = false\n[packages]\nhub = {{ source = "{upstream.as_uri()}", path = "docs" }}\n'
    )
    packages, config = state(project)
    _, outcomes = manage.update(packages, config, [], force=False, now=NOW)
    assert [(o.alias, o.state) for o in outcomes] == [("hub", "installed")]
    with pytest.raises(UsageError, match="listed in syntropy.toml"):
        added(project, upstream, alias="more")


def registry(folder, name, contexts, imports=()):
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"name": name, "contexts": contexts, "imports": list(imports)}))
    return path


def test_registries_are_federated_and_cycles_end(tmp_path, project):
    entry = {"name": "A", "description": "d", "repo": "https://h/a.git"}
    registry(tmp_path, "two", [{**entry, "name": "B", "repo": "https://h/b.git"}, entry], ["one.json"])
    one = registry(tmp_path, "one", [entry], ["two.json", "missing.json"])
    menu = read_menu(str(one), load_config(project).git, clock=time.monotonic)
    assert [c.name for c in menu.contexts] == ["A", "B"]
    assert len(menu.warnings) == 1


def test_ten_thousand_imports_end(tmp_path, project):
    one = registry(tmp_path, "one", [], [f"r{n}.json" for n in range(10_000)])
    for n in range(150):
        registry(tmp_path, f"r{n}", [])
    menu = read_menu(str(one), load_config(project).git, clock=time.monotonic)
    assert any("stopped after" in w for w in menu.warnings)


def test_a_registry_in_a_repository(project, upstream):
    (upstream / "nocaap-registry.json").write_text(
        json.dumps({"name": "Org", "contexts": [{"name": "Hub", "repo": "x"}]})
    )
    commit(upstream)
    menu = read_menu(upstream.as_uri(), load_config(project).git, clock=time.monotonic)
    assert (menu.name, [c.name for c in menu.contexts]) == ("Org", ["Hub"])


def test_registries_that_are_refused(tmp_path, project):
    big = tmp_path / "big.json"
    with big.open("wb") as handle:
        handle.truncate(100_000_000)
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 60_000)
    for address in (str(big), str(deep), str(tmp_path / "none.json")):
        with pytest.raises((RegistryError, UsageError)):
            read_menu(address, load_config(project).git, clock=time.monotonic)
    for address in (
        "https://127.0.0.1/r.json",
        "http://example.org/r.json",
        "https://[::1]/r.json",
        "https://169.254.169.254/r.json",
    ):
        with pytest.raises(RegistryError):
            check_public(address)


def test_setup_skips_what_may_not_be_read(project, upstream, tmp_path, capsys):
    menu = registry(
        tmp_path,
        "menu",
        [
            {"name": "Hub docs", "description": "d", "repo": upstream.as_uri(), "path": "docs"},
            {"name": "Denied", "description": "d", "repo": (tmp_path / "denied").as_uri()},
        ],
    )
    assert main(["package", "setup", str(menu), "--yes", "--project", str(project)]) == 0
    shown = capsys.readouterr()
    assert "installed hub-docs" in shown.out
    assert "Denied: skipped" in shown.err
    assert [p.alias for p in state(project)[0].wanted] == ["hub-docs"]
    assert json.loads((project / ".context/context.config.json").read_text())["registryUrl"] == str(menu)
    assert main(["package", "setup", "--select", "nothing", "--project", str(project)]) == 2


def test_the_command_line(project, upstream, capsys):
    at = ["--project", str(project)]
    assert main(["package", "add", upstream.as_uri(), "--path", "docs", *at]) == 0
    assert main(["package", "list", "--json", *at]) == 0
    listed = json.loads(capsys.readouterr().out.split("\n", 2)[2])
    assert [(p["alias"], p["state"]) for p in listed["packages"]] == [("docs", "installed")]
    assert main(["package", "update", *at]) == 0
    assert main(["package", "remove", "docs", *at]) == 0
    assert main(["package", "update", "docs", *at]) == 2
    assert main(["package", *at[:0]]) == 2


def test_a_slow_command_is_ended(tmp_path):
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\nsleep 30\n")
    script.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{tmp_path}:{before}"
    started = time.monotonic()
    try:
        with pytest.raises(GitError, match="took longer"):
            git("status", timeout=0.3, allow_file=False)
    finally:
        os.environ["PATH"] = before
    assert time.monotonic() - started < 10


def test_many_packages_with_equal_paths_take_nothing_from_the_project(project, upstream):
    (project / "docs").mkdir()
    (project / "docs/guide.md").write_text("# Our guide\n")
    (upstream / "CLAUDE.md").write_text("# Rules\n\n- Always wear gloves.\n")
    commit(upstream)
    for alias in ("one", "two", "three"):
        added(project, upstream, alias=alias)
    build(project)
    with syntropy.open(project) as knowledge:
        keys = dict(knowledge.database.rows("SELECT package, key FROM documents WHERE path = 'docs/guide.md'"))
        assert keys == {
            "project": "docs/guide",
            "one": "one:docs/guide",
            "two": "two:docs/guide",
            "three": "three:docs/guide",
        }
        assert knowledge.document("docs/guide.md").title == "Our guide"
        assert knowledge.drift().score == 0
        assert {r.path for r in knowledge.rules()} == {"one:CLAUDE.md", "two:CLAUDE.md", "three:CLAUDE.md"}
        with pytest.raises(DocumentNotFoundError, match="several packages"):
            knowledge.document("docs/retry.md")
        assert knowledge.staleness(stale_after=0).stale is False
    overview = (project / "build/INDEX.md").read_text()
    assert "## Package one" in overview
    assert "`one:docs/guide.md`" in overview
    assert "<docs/retry.md>" not in overview


def test_install_puts_the_locked_commit_into_place(project, upstream):
    _, outcome = added(project, upstream, alias="hub")
    import shutil

    shutil.rmtree(project / ".context/packages")
    (upstream / "docs/later.md").write_text("# Later\n")
    commit(upstream)
    assert main(["package", "install", "--project", str(project)]) == 0
    assert run(project / ".context/packages/hub", "rev-parse", "HEAD").strip() == outcome.commit
    assert not (project / ".context/packages/hub/docs/later.md").exists()


def test_a_fifo_is_no_list(project):
    (project / ".context").mkdir()
    os.mkfifo(project / ".context/context.config.json")
    with pytest.raises(ConfigError, match="no regular file"):
        state(project)


def test_select_by_exact_name_first(tmp_path, project, upstream):
    other = upstream.with_name("other")
    run(upstream.parent, "clone", "--quiet", str(upstream), str(other))
    menu = registry(
        tmp_path,
        "menu",
        [
            {"name": "API", "repo": upstream.as_uri()},
            {"name": "api", "repo": other.as_uri()},
            {"name": "bad", "repo": upstream.as_uri(), "path": "../.."},
        ],
    )
    assert main(["package", "setup", str(menu), "--select", "API", "--project", str(project)]) == 0
    assert [p.source for p in state(project)[0].wanted] == [upstream.as_uri()]
    assert main(["package", "setup", str(menu), "--yes", "--project", str(project)]) == 1
    assert len(state(project)[0].wanted) == 2


def test_a_missing_registry_is_said_to_be_missing(project):
    with pytest.raises(RegistryError, match="does not exist"):
        read_menu("nowhere.json", load_config(project).git, clock=time.monotonic)

"""What people leave in a package's folder: every state is refused with a word, and nothing of it is lost."""

import json
import os
import shutil
import subprocess

import pytest

import syntropy
from pipeline.packages import manage
from pipeline.packages.checkout import LocalChangesError, flatten
from pipeline.packages.git import check_address
from pipeline.packages.registry import RegistryError, check_public, default_registry, read_menu
from syntropy.cli.main import main
from syntropy.contract.config import GitConfig
from syntropy.contract.errors import BuildError
from tests.pipeline.packages.test_packages import NOW, added, commit, project, run, state, upstream
from tests.quick import build

__all__ = ["project", "upstream"]


def write(path, text="mine\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def other_branch(folder, *, back=True, name="mine"):
    run(folder, "checkout", "--quiet", "-b", name)
    write(folder / "docs/mine.md")
    commit(folder)
    if back:
        run(folder, "checkout", "--quiet", "-")


def keep_times(path, text):
    info = path.stat()
    path.write_text(text)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def detached(folder):
    run(folder, "checkout", "--quiet", "--detach")
    write(folder / "docs/mine.md")
    commit(folder)
    run(folder, "checkout", "--quiet", "-")


def merging(folder):
    other_branch(folder)
    run(folder, "merge", "--quiet", "--no-ff", "--no-commit", "mine")


def nested(folder):
    (folder / "docs/inner").mkdir()
    run(folder / "docs/inner", "init", "--quiet")
    write(folder / "docs/inner/x.md")
    commit(folder / "docs/inner")


def excluded(folder):
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/exclude").write_text("*.secret\n")
    write(folder / "docs/a.secret")


def worktree(folder):
    run(folder, "worktree", "add", "--quiet", "-b", "there", str(folder.parent.parent.parent.parent / "there"))


def bisecting(folder):
    (folder / ".git/BISECT_LOG").write_text("git bisect start\n")


def with_notes(folder):
    run(folder, "notes", "add", "-m", "remember", "HEAD")


def reset(folder):
    write(folder / "docs/mine.md")
    commit(folder)
    run(folder, "reset", "--quiet", "--hard", "HEAD~1")


def config_hides(folder):
    run(folder, "config", "status.showUntrackedFiles", "no")
    write(folder / "docs/mine.md")


def submodule(folder):
    run(
        folder,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        (folder.parent.parent.parent.parent / "hub").as_uri(),
        "docs/sub",
    )


STATES = {
    "a file changed": lambda f: write(f / "docs/retry.md"),
    "a file changed, times kept": lambda f: keep_times(f / "docs/retry.md", (f / "docs/retry.md").read_text().swapcase()),
    "a file added": lambda f: write(f / "docs/mine.md"),
    "a file added at the top": lambda f: write(f / "mine.md"),
    "a file with an odd name": lambda f: write(f / "docs/é ö\t.md"),
    "a file without an ending": lambda f: write(f / "docs/NOTES"),
    "a hidden file": lambda f: write(f / ".mine"),
    "an ignored file": lambda f: write(f / "docs/a.tmp"),
    "a file git is told to ignore": excluded,
    "a file that configuration hides": config_hides,
    "a file deleted": lambda f: (f / "docs/retry.md").unlink(),
    "a file renamed": lambda f: (f / "docs/retry.md").rename(f / "docs/again.md"),
    "a file staged": lambda f: (write(f / "docs/mine.md"), run(f, "add", ".")),
    "a deletion staged": lambda f: run(f, "rm", "--quiet", "docs/retry.md"),
    "a mode changed": lambda f: (f / "docs/retry.md").chmod(0o755),
    "a file replaced by a link": lambda f: ((f / "docs/retry.md").unlink(), (f / "docs/retry.md").symlink_to("guide.md")),
    "a file replaced by a folder": lambda f: ((f / "docs/retry.md").unlink(), write(f / "docs/retry.md/x.md")),
    "assumed unchanged": lambda f: (run(f, "update-index", "--assume-unchanged", "docs/retry.md"), write(f / "docs/retry.md")),
    "skipped in the work tree": lambda f: (run(f, "update-index", "--skip-worktree", "docs/retry.md"), write(f / "docs/retry.md")),
    "a stash": lambda f: (write(f / "docs/retry.md"), run(f, "stash")),
    "a stash of untracked files": lambda f: (write(f / "docs/mine.md"), run(f, "stash", "-u")),
    "a commit": lambda f: (write(f / "docs/mine.md"), commit(f)),
    "a commit amended": lambda f: run(f, "commit", "--quiet", "--amend", "--allow-empty", "-m", "other"),
    "an empty commit": lambda f: run(f, "commit", "--quiet", "--allow-empty", "-m", "empty"),
    "a commit on another branch": other_branch,
    "another branch checked out": lambda f: other_branch(f, back=False),
    "a commit on a branch with a slash": lambda f: other_branch(f, name="feature/mine"),
    "a commit that only the reflog has": detached,
    "a commit that was reset": reset,
    "a commit under a tag": lambda f: (other_branch(f), run(f, "tag", "kept", "mine"), run(f, "branch", "-D", "mine")),
    "an annotated tag": lambda f: run(f, "tag", "-a", "v9", "-m", "mine"),
    "a light tag": lambda f: run(f, "tag", "mine"),
    "a note of git": with_notes,
    "a ref of its own kind": lambda f: (other_branch(f), run(f, "update-ref", "refs/mine/x", "mine"), run(f, "branch", "-D", "mine")),
    "a commit of another remote": lambda f: (other_branch(f), run(f, "update-ref", "refs/remotes/fork/x", "mine"), run(f, "branch", "-D", "mine")),
    "a merge begun": merging,
    "a bisection begun": bisecting,
    "a repository inside": nested,
    "a submodule": submodule,
    "another worktree": worktree,
    "repositories of submodules": lambda f: write(f / ".git/modules/sub/HEAD"),
    "git's folder gone": lambda f: shutil.rmtree(f / ".git"),
}  # fmt: skip


def test_there_are_forty_states():
    assert len(STATES) >= 40


@pytest.mark.parametrize("work", STATES)
def test_every_state_is_refused_and_kept(project, upstream, work):
    (upstream / ".gitignore").write_text("*.tmp\n")
    commit(upstream)
    added(project, upstream, alias="hub")
    folder = project / ".context/packages/hub"
    STATES[work](folder)
    before = everything(folder)
    write(upstream / "docs/later.md", "# Later\n")
    commit(upstream)
    packages, config = state(project)
    _, outcomes = manage.update(packages, config, [], force=True, now=NOW)
    assert outcomes[0].state == "failed"
    with pytest.raises(LocalChangesError):
        manage.remove(packages, config, "hub", force=False)
    assert everything(folder) == before


def everything(folder):
    """Refs, and every file outside of git's own bookkeeping."""
    refs = ""
    if (folder / ".git").is_dir():
        refs = run(folder, "for-each-ref") + run(folder, "stash", "list") + run(folder, "reflog", "--all")
    files = {str(p.relative_to(folder)): p.readlink() if p.is_symlink() else p.read_bytes()
             for p in folder.rglob("*") if (p.is_symlink() or p.is_file()) and ".git" not in p.relative_to(folder).parts}  # fmt: skip
    return refs, files


def test_litter_of_file_managers_is_nobodys_work(project, upstream):
    added(project, upstream, alias="hub")
    write(project / ".context/packages/hub/docs/.DS_Store")
    write(upstream / "docs/later.md", "# Later\n")
    commit(upstream)
    packages, config = state(project)
    assert manage.update(packages, config, [], force=False, now=NOW)[1][0].state == "updated"


# --- nocaap's own layouts


@pytest.fixture
def flat(project, upstream):
    """A package as nocaap leaves it: no configuration of ours, the folder at the top."""
    added(project, upstream, path="docs", alias="hub")
    folder = project / ".context/packages/hub"
    run(folder, "config", "--unset", "core.hooksPath")
    flatten(folder, "docs")
    assert (folder / "retry.md").is_file()
    return folder


def test_a_flattened_checkout_is_built_updated_and_removed(project, upstream, flat):
    build(project)
    with syntropy.open(project) as knowledge:
        assert knowledge.document("hub:docs/retry.md").text.startswith("# Retry budgets")
    write(upstream / "docs/later.md", "# Later\n")
    commit(upstream)
    packages, config = state(project)
    packages, outcomes = manage.update(packages, config, [], force=False, now=NOW)
    assert outcomes[0].state == "updated"
    assert (flat / "later.md").is_file()
    assert not (flat / "docs").exists()
    manage.remove(packages, config, "hub", force=False)
    assert not flat.exists()


@pytest.mark.parametrize(
    "work",
    [lambda f: write(f / "retry.md"), lambda f: write(f / "mine.md"), lambda f: (f / "guide.md").unlink(),
     lambda f: write(f / "deep/x.md"), lambda f: (f / "linked").symlink_to(f.parent, target_is_directory=True),
     lambda f: (write(f / "x.md"), run(f, "add", "--sparse", "x.md"), (f / "x.md").unlink()),
     lambda f: (run(f, "checkout", "-q", "-b", "m"), run(f, "commit", "-q", "--allow-empty", "-m", "x"))],
)  # fmt: skip
def test_work_in_a_flattened_checkout_is_refused(project, upstream, flat, work):
    work(flat)
    packages, config = state(project)
    with pytest.raises(LocalChangesError):
        manage.remove(packages, config, "hub", force=False)
    assert manage.state_of(packages, config, packages.wanted[0]).startswith("local changes")


def test_changes_of_a_flattened_checkout_are_pushed_where_they_belong(project, upstream, flat):
    from datetime import date

    write(flat / "retry.md", "# Retry budgets\n\nFixed.\n")
    write(flat / "new.md", "# New\n")
    packages, config = state(project)
    branch, _ = manage.push(packages, config, "hub", "Fix it", today=date(2026, 11, 22))
    assert "Fixed." in run(upstream, "show", f"{branch}:docs/retry.md")
    assert run(upstream, "show", f"{branch}:docs/new.md") == "# New\n"
    changed = run(upstream, "diff", "--name-only", f"HEAD...{branch}").split()
    assert changed == ["docs/new.md", "docs/retry.md"]


def test_a_push_never_climbs_into_the_projects_own_repository(project, upstream):
    from datetime import date

    run(project, "init", "--quiet")
    write(project / "secret.md")
    commit(project)
    write(project / "secret.md", "staged\n")
    run(project, "add", "secret.md")
    added(project, upstream, alias="hub")
    shutil.rmtree(project / ".context/packages/hub/.git")
    before = run(project, "for-each-ref") + run(project, "status", "--porcelain", "secret.md")
    packages, config = state(project)
    with pytest.raises(LocalChangesError, match="not a git checkout"):
        manage.push(packages, config, "hub", "mine", today=date(2026, 11, 22))
    assert run(project, "for-each-ref") + run(project, "status", "--porcelain", "secret.md") == before
    assert "secret" not in run(upstream, "log", "--all", "--name-only")


def test_line_ends_that_git_converts_are_nobodys_work(project, upstream):
    (upstream / ".gitattributes").write_text("*.md text eol=crlf\n")
    commit(upstream)
    added(project, upstream, alias="hub")
    assert b"\r\n" in (project / ".context/packages/hub/docs/retry.md").read_bytes()
    write(upstream / "docs/later.md", "# Later\n")
    commit(upstream)
    packages, config = state(project)
    assert manage.update(packages, config, [], force=False, now=NOW)[1][0].state == "updated"


def test_a_folder_that_cannot_be_written_is_one_packages_failure(project, upstream, monkeypatch):
    added(project, upstream, alias="hub")
    write(upstream / "docs/later.md", "# Later\n")
    commit(upstream)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pipeline.packages.checkout.Path.rename", full)
    packages, config = state(project)
    outcome = manage.update(packages, config, [], force=False, now=NOW)[1][0]
    assert (outcome.state, "No space left" in outcome.note) == ("failed", True)


def test_a_vendored_package_is_read_as_it_is(project, upstream):
    folder = project / ".context/packages/hub"
    write(folder / "prices.md", "# Prices\n\nA bin costs three.\n")
    write(
        project / ".context/context.config.json",
        json.dumps({"packages": [{"alias": "hub", "source": "https://x.example/a", "path": "docs"}]}),
    )
    write(project / ".context/INDEX.md", "# Context Index\n\nmade by a tool: prices\n")
    build(project)
    with syntropy.open(project) as knowledge:
        hit = knowledge.search("prices of a bin").hits[0]
        assert str(hit.citation).startswith("hub:prices.md")
        assert str(knowledge.search("hub prices").hits[0].citation).startswith("hub:prices.md")
        assert [d for (d,) in knowledge.database.rows("SELECT path FROM documents WHERE path LIKE '.context/%'")] == []
    packages, config = state(project)
    assert manage.state_of(packages, config, packages.wanted[0]) == "vendored"
    with pytest.raises(LocalChangesError):
        manage.remove(packages, config, "hub", force=False)
    assert (folder / "prices.md").is_file()


def test_keys_that_are_not_ours_are_written_back(project, upstream):
    added(project, upstream, alias="hub")
    listed = project / ".context/context.config.json"
    data = json.loads(listed.read_text())
    data |= {"search": {"rrfK": 60}, "push": {"baseBranch": "develop"}, "index": {"semantic": True}, "mine": [1]}
    data["packages"][0]["comment"] = "keep"
    listed.write_text(json.dumps(data))
    lock = project / ".context/context.lock"
    locked = json.loads(lock.read_text())
    locked["hub"]["etag"] = "x"
    lock.write_text(json.dumps(locked))
    added(project, upstream, alias="two", path="docs")
    packages, config = state(project)
    manage.remove(packages, config, "two", force=False)
    after = json.loads(listed.read_text())
    assert {k: after[k] for k in ("search", "push", "index", "mine")} == {
        k: data[k] for k in ("search", "push", "index", "mine")
    }
    assert after["packages"][0]["comment"] == "keep"
    assert json.loads(lock.read_text())["hub"]["etag"] == "x"
    assert state(project)[0].base_branch() == "develop"
    assert manage.pull_request_hint("https://github.com/a/b", "x", base="develop").endswith(
        "/compare/develop...x?expand=1"
    )


# --- the lock decides what is built


def test_a_pulled_lock_is_applied(project, upstream):
    added(project, upstream, alias="hub")
    lock = project / ".context/context.lock"
    old = lock.read_text()
    write(upstream / "docs/later.md", "# Later\n\nNew.\n")
    new = commit(upstream)
    lock.write_text(json.dumps({"hub": {**json.loads(old)["hub"], "commitHash": new}}))
    with pytest.raises(BuildError, match="not there as it is locked") as refused:
        build(project)
    assert "package install" in refused.value.hint
    packages, config = state(project)
    assert [o.state for o in manage.install(packages, config)] == ["updated"]
    build(project)
    with syntropy.open(project) as knowledge:
        assert "New." in knowledge.document("hub:docs/later.md").text


def test_a_missing_package_stops_the_build_unless_told_otherwise(project, upstream, capsys):
    added(project, upstream, alias="hub")
    build(project)
    shutil.rmtree(project / ".context/packages/hub")
    with pytest.raises(BuildError, match="hub is listed and not installed"):
        build(project)
    with syntropy.open(project) as knowledge:
        assert knowledge.document("hub:docs/retry.md")
    assert main(["build", "--project", str(project), "--allow-missing"]) == 0
    assert "hub:" in capsys.readouterr().err
    with syntropy.open(project) as knowledge:
        assert ("package", "hub") in knowledge.database.rows("SELECT code, package FROM diagnostics")


def test_a_build_runs_nothing_that_a_package_brings_and_fetches_nothing(project, upstream, tmp_path):
    added(project, upstream, alias="hub", path="docs")
    folder = project / ".context/packages/hub"
    ran = tmp_path / "ran"
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.alternateRefsCommand",
        "uploadpack.packObjectsHook",
    ):
        run(folder, "config", key, f"touch {ran}")
    run(folder, "config", "alias.cat-file", f"!touch {ran}")
    run(folder, "config", "alias.ls-tree", f"!touch {ran}")
    run(folder, "remote", "set-url", "origin", f"ext::sh -c 'touch {ran}'")
    shutil.rmtree(upstream)
    build(project)
    assert not ran.exists()
    with syntropy.open(project) as knowledge:
        assert knowledge.document("hub:docs/retry.md")


# --- registries


def test_a_registry_lies_anywhere_in_a_repository(project, upstream):
    menu = {"name": "M", "contexts": [{"name": "Docs", "description": "d", "repo": upstream.as_uri(), "path": "docs"}]}
    write(upstream / "lists/team.json", json.dumps(menu))
    commit(upstream)
    settings = GitConfig(allow_file=True)
    found = read_menu(f"{upstream.as_uri()}#lists/team.json", settings, clock=lambda: 0.0)
    assert [c.name for c in found.contexts] == ["Docs"]
    with pytest.raises(RegistryError, match="holds no lists/none.json"):
        read_menu(f"{upstream.as_uri()}#lists/none.json", settings, clock=lambda: 0.0)
    assert check_address(upstream.as_uri(), allow_file=True)


def test_private_addresses_are_for_the_user_to_allow():
    with pytest.raises(RegistryError, match="private"):
        check_public("https://127.0.0.1/x.json")
    check_public("https://127.0.0.1/x.json", private=True)


def test_the_default_registry(tmp_path):
    assert default_registry(tmp_path, GitConfig()) == ""
    write(tmp_path / ".nocaap/config.json", json.dumps({"defaultRegistry": "https://x.example/r.json"}))
    assert default_registry(tmp_path, GitConfig()) == "https://x.example/r.json"
    assert default_registry(tmp_path, GitConfig(registry="mine.json")) == "mine.json"


def test_list_tells_what_was_changed(project, upstream, capsys):
    added(project, upstream, alias="hub")
    write(project / ".context/packages/hub/docs/retry.md")
    assert main(["package", "list", "--project", str(project)]) == 0
    assert "local changes: docs/retry.md was changed" in capsys.readouterr().out


def test_a_folder_above_the_package_is_not_fetched(project, upstream):
    write(upstream / "top.md", "# Top\n")
    commit(upstream)
    added(project, upstream, alias="hub", path="docs")
    assert not (project / ".context/packages/hub/top.md").exists()
    subprocess.run(["git", "-C", str(project / ".context/packages/hub"), "fsck", "--no-progress"], check=True)

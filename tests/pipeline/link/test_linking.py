"""Relations with a closed vocabulary; what dangles is a diagnostic; drift can be recounted."""

from typing import NamedTuple

import polars as pl

from pipeline.extract.catalog import unique_keys, unique_labels
from pipeline.extract.extraction import extract_texts
from pipeline.ground.tables import from_rows
from pipeline.link.drift import measure_drift
from pipeline.link.duplicates import duplicate_relations
from pipeline.link.linking import link_diagnostics, link_mentions
from pipeline.link.similar import similar_documents
from pipeline.link.targets import Resolver
from pipeline.sources.project import ProjectConnector
from pipeline.sources.protocol import SourceText
from syntropy.contract.config import LinkConfig, SecretsConfig, SourcesConfig
from syntropy.contract.schema import RELATIONS, SOURCES, WINDOWS
from syntropy.contract.vocabulary import RELATION_TYPES


class Linked(NamedTuple):
    """What the stage makes of mentions."""

    relations: pl.DataFrame
    diagnostics: pl.DataFrame
    checked: int


def linked(root):
    connector = ProjectConnector(root, SourcesConfig())
    found = connector.scan()
    texts = connector.read([f.path for f in found.files if f.status == "indexed"])
    tables = extract_texts(texts, SecretsConfig())
    documents, clashes = unique_keys(tables.documents.sort("document"))
    rules = unique_labels(tables.rules.sort("document", "line"))
    sources = from_rows(SOURCES, found.files)
    links = link_mentions(Resolver(documents, rules, sources), documents, tables.mentions)
    told = link_diagnostics(documents, links.unresolved, rules, sources)
    return documents, Linked(links.relations, told, links.checked), clashes


def edges(links):
    return {
        (a.partition(":")[2], kind, path, origin)
        for a, kind, path, origin in links.relations.select("from", "type", "to_path", "origin").iter_rows()
    }


def test_every_way_to_refer_resolves(project):
    root = project(
        {
            "docs/a.md": "[rel](guides/b.md#x) [root](/README.md) [bare](guides/b) [[B title]] [[b]] `mem:auth/login` `mem:login`\n"
            "PRP-9 `retry-pattern` `src/deep/tools.py` `tools.py:12` `no-fishy-fallbacks` [folder](guides/)\n",
            "docs/guides/b.md": "# B title\n",
            "README.md": "# R\n",
            ".serena/memories/auth/login.md": "# L\n",
            "PRPs/executed/PRP-009-x.md": "# X\n",
            "examples/patterns/retry-pattern.md": "# P\n",
            "CLAUDE.md": "## No fishy fallbacks - MANDATORY\n",
            "src/deep/tools.py": "x = 1\n",
        }
    )
    _, links, _ = linked(root)
    assert {e for e in edges(links) if e[0] == "docs/a.md"} == {
        ("docs/a.md", "links_to", "docs/guides/b.md", "markdown-link"),
        ("docs/a.md", "links_to", "README.md", "markdown-link"),
        ("docs/a.md", "links_to", "docs/guides/b.md", "wikilink"),
        ("docs/a.md", "references", ".serena/memories/auth/login.md", "memory"),
        ("docs/a.md", "references", "PRPs/executed/PRP-009-x.md", "id"),
        ("docs/a.md", "references", "examples/patterns/retry-pattern.md", "id"),
        ("docs/a.md", "references", "CLAUDE.md", "id"),
        ("docs/a.md", "references", "src/deep/tools.py", "path"),
        ("docs/a.md", "links_to", "docs/guides", "markdown-link"),
    }
    assert not links.diagnostics.height
    assert set(links.relations["type"]) <= set(RELATION_TYPES)


def test_dangling_references_are_diagnostics_with_lines(project):
    root = project(
        {
            "docs/a.md": "ok\n\n[label](contexts) [x](gone.md) [[Nobody]] `mem:example` PRP-77 `not-a-name` `lib/x.py` "
            "[site](/docs/route)\n[out](../../etc/passwd)\n",
            ".serena/memories/m.md": "`mem:none` and `mem:NAME`\n",
        }
    )
    _, links, _ = linked(root)
    found = {(d["line"], d["severity"], d["message"].split(",")[0]) for d in links.diagnostics.iter_rows(named=True)}
    assert found == {
        (1, "warning", "refers to mem:none"),
        (3, "warning", "links to gone.md"),
        (3, "warning", "links to [[Nobody]]"),
        (3, "warning", "refers to PRP-77"),
        (3, "info", "links to /docs/route"),
        (4, "warning", "links to ../../etc/passwd"),
    }


def test_two_files_that_claim_one_id_both_stay_findable(project):
    root = project(
        {
            "PRPs/executed/PRP-30-a.md": "# A\n",
            "PRPs/feature-requests/PRP-030-b.md": "# B\n",
            "PRPs/templates/PRP-30-a.md": "# A\n",
            "docs/x.md": "PRP-30\n",
        }
    )
    documents, links, clashes = linked(root)
    keys = documents.filter(pl.col("kind") == "prp")["key"].to_list()
    assert keys == ["PRP-30", "PRP-030@PRPs/feature-requests/PRP-030-b.md", "PRP-30@PRPs/templates/PRP-30-a.md"]
    assert clashes.select("severity", "path").rows() == [
        ("warning", "PRPs/feature-requests/PRP-030-b.md"),
        ("info", "PRPs/templates/PRP-30-a.md"),
    ]
    assert ("docs/x.md", "references", "PRPs/executed/PRP-30-a.md", "id") in edges(links)


def test_duplicates_by_content(project):
    texts = {"docs/a.md": "same  text\n", "docs/b.md": "same\ntext", "docs/c.md": "other"}
    files = [SourceText("project", path, "", "doc", "user", path, text) for path, text in texts.items()]
    found = extract_texts(files, SecretsConfig())
    assert duplicate_relations(found.outlines).select("from", "type", "to_path").rows() == [
        ("project:docs/b.md", "duplicate_of", "docs/a.md")
    ]


def test_see_also_by_mean_vectors():
    windows = from_rows(
        WINDOWS,
        [("p:a", 0, 0, 0, 1, "h1"), ("p:a", 0, 1, 1, 2, "h2"), ("p:b", 0, 0, 0, 1, "h1"), ("p:c", 0, 0, 0, 1, "h3")],
    )
    vectors = pl.DataFrame(
        {"text_hash": ["h1", "h2", "h3"], "vector": [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]},
        schema={"text_hash": pl.String, "vector": pl.Array(pl.Float32, 2)},
    )
    found = similar_documents(windows, vectors, LinkConfig(similar_threshold=0.5), duplicates=from_rows(RELATIONS, []))
    assert found.select("from", "to", "score").rows() == [("p:a", "p:b", 0.7071), ("p:b", "p:a", 0.7071)]


def test_drift_counts_claims_that_fail(project):
    root = project(
        {
            "PRPs/executed/PRP-1.md": "---\nverified: true\n---\n## Implementation\n- `src/gone.py`\n- `src/here.py`\n",
            "PRPs/executed/PRP-2.md": "# T\n[a](gone.md)\n",
            "PRPs/feature-requests/PRP-3.md": "## Implementation\n- `src/planned.py`\n",
            "src/here.py": "",
        }
    )
    documents, links, clashes = linked(root)
    drift = measure_drift(documents, pl.concat([links.diagnostics, clashes]), references=links.checked)
    assert {(v[0], v[2]) for v in drift.violations.iter_rows()} == {
        ("missing-implementation", "PRPs/executed/PRP-1.md"),
        ("dangling-reference", "PRPs/executed/PRP-2.md"),
        ("unverified-prp", "PRPs/executed/PRP-2.md"),
    }
    # claims: gone.py, here.py, gone.md; two executed PRPs; three documents' keys
    assert (drift.claims, drift.score) == (3 + 2 + 3, round(3 / 8, 4))


def test_no_claims_no_drift(project):
    documents, links, clashes = linked(project({}))
    assert measure_drift(documents, clashes, references=links.checked).score == 0.0


def test_a_copy_repeats_no_problem_and_an_ambiguous_file_is_there(project):
    text = "# PRP-1\n\nstatus: executed\n\nSee PRP-77, and PRP-77.\n\n## Files\n\n- `dock/open.py`\n- `dock/gone.py`\n"
    root = project(
        {
            "PRPs/executed/PRP-1-a.md": text,
            ".ce/PRPs/system/executed/PRP-1-a.md": text,
            "a/dock/open.py": "x = 1\n",
            "b/dock/open.py": "x = 2\n",
        }
    )
    _, links, _ = linked(root)
    found = links.diagnostics.select("path", "code", "message").rows()
    assert sorted((path, code) for path, code, _ in found) == [
        ("PRPs/executed/PRP-1-a.md", "dangling-reference"),
        ("PRPs/executed/PRP-1-a.md", "missing-implementation"),
    ]

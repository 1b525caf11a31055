import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.frontmatter import MAX_DEPTH, read_frontmatter


def test_metadata_and_body():
    found = read_frontmatter("---\ntitle: A\ntags: [x, y]\n---\nBody\n")
    assert found.metadata == {"title": "A", "tags": ["x", "y"]}
    assert "---\ntitle: A\ntags: [x, y]\n---\nBody\n"[found.body_start :] == "Body\n"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("30.10", "30.10"),
        ("2025-10-22", "2025-10-22"),
        ("no", "no"),
        ("on", "on"),
        ("017", "017"),
        ("1e3", "1e3"),
        ("17", 17),
        ("true", True),
        ("null", None),
        ("0x1F", "0x1F"),
        ("12:30:00", "12:30:00"),
    ],
)
def test_scalars_stay_what_the_author_wrote(value, kept):
    assert read_frontmatter(f"---\nkey: {value}\n---\n").metadata == {"key": kept}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("---\ntitle: A\n\nno end\n", "frontmatter-unclosed"),
        ("---\n- a\n- b\n---\nbody", "frontmatter-not-a-mapping"),
        ("---\na: [1, 2\n---\nbody", "frontmatter-invalid"),
        ("---\na: &x 1\nb: *x\n---\nbody", "frontmatter-refused"),
        ("---\na: {<<: {b: 1}}\n---\nbody", "frontmatter-refused"),
        ("---\na: " + "[" * 50_000 + "]" * 50_000 + "\n---\nbody", "frontmatter-too-large"),
        ("---\na: " + "[" * 9_000 + "]" * 9_000 + "\n---\nbody", "frontmatter-refused"),
        ("---\n" + "- " * 9_000 + "x\n---\nbody", "frontmatter-refused"),
        ("---\na: !!python/object/apply:os.system ['true']\n---\nbody", "frontmatter-invalid"),
    ],
)
def test_bad_frontmatter_is_a_diagnostic_and_stays_in_the_body(text, code):
    found = read_frontmatter(text)
    assert found.problem is not None
    assert found.problem.code == code
    assert found.body_start == 0
    assert found.metadata == {} or code == "frontmatter-invalid"


def test_plain_lines_of_broken_yaml_are_kept():
    text = "---\nname: prp-commit\ndescription: Commit: with care\nargument-hint: [x] (y)\n---\nBody\n"
    found = read_frontmatter(text)
    assert found.problem.code == "frontmatter-invalid"
    assert found.metadata["name"] == "prp-commit"
    assert found.metadata["description"] == "Commit: with care"
    assert text[found.block_end :] == "Body\n"


def test_depth_at_the_limit_is_allowed():
    deep = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert read_frontmatter(f"---\na: {deep}\n---\n").problem is None


def test_a_thematic_break_is_no_frontmatter():
    for text in ("---\n\nSome prose.\n", "---\nJust prose between breaks\n---\nmore\n", "--- x\n"):
        found = read_frontmatter(text)
        assert (found.metadata, found.body_start, found.problem) == ({}, 0, None)


def test_windows_line_ends():
    text = "---\r\ntitle: A\r\n---\r\nBody\r\n"
    found = read_frontmatter(text)
    assert found.metadata == {"title": "A"}
    assert text[found.body_start :] == "Body\r\n"


@given(st.text(alphabet="-:[]{}&*<>! abc\n\r\t'\"#|", max_size=200))
def test_never_raises(block):
    found = read_frontmatter(f"---\n{block}\n---\nbody")
    assert 0 <= found.body_start <= len(block) + 20

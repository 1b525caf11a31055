"""Which section or paragraph of a file tells of an entity."""

from pipeline.formats import entity_sections

TEXT = """# Smells

## Long Method

A method that scrolls.

## Large Class

A class that knows too much.

Feature envy is a method that asks another object for all it needs.
"""


def told(*titles):
    entities = [{"id": f"e{n}", "title": title} for n, title in enumerate(titles)]
    found = entity_sections.pages(TEXT, "code-smells/all.md", "smell", entities)
    return [page.text for page in found.pages[1:]], [p.message for p in found.problems]


def test_a_section_of_the_very_title_is_its_own():
    texts, problems = told("Method", "Long Method", "Large Class", "Feature Envy")
    assert "From line 3 " not in texts[0]
    assert "From line 3 " in texts[1]
    assert "knows too much" in texts[2]
    assert "asks another object" in texts[3]
    assert len(problems) == 0


def test_a_title_without_words_and_one_that_is_not_there():
    texts, problems = told("???", "Shotgun Surgery")
    assert len(texts) == 2
    assert "scrolls" not in texts[0] + texts[1]
    assert len(problems) == 2


def test_a_file_of_thousands_of_entities_is_read_once(monkeypatch):
    read = []
    outline = entity_sections.outline
    monkeypatch.setattr(entity_sections, "outline", lambda text: read.append(1) or outline(text))
    told(*(f"Smell {n}" for n in range(2000)))
    assert read == [1]

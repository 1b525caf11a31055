"""One page an operation; local references followed, cycles survived, remote ones never fetched."""

import json

import yaml

from pipeline.formats import openapi
from pipeline.formats.expand import expand
from pipeline.text.frontmatter import read_frontmatter
from tests.conftest import ROOT

API = ROOT / "examples/acme/helios/api"


def test_every_operation_of_the_demo_is_a_page():
    text = (API / "openapi.yaml").read_text()
    data = yaml.safe_load(text)
    count = sum(m in openapi.METHODS for item in data["paths"].values() for m in item)
    found = openapi.pages(text, "openapi.yaml")
    assert len(found.pages) == count >= 10
    assert found.problems == []


def test_a_page_has_parameters_examples_and_errors():
    found = openapi.pages((API / "openapi.yaml").read_text(), "openapi.yaml")
    page = next(p for p in found.pages if p.id == "api-createuser")
    metadata = read_frontmatter(page.text).metadata
    assert metadata["title"] == "POST /users"
    assert "createUser" in metadata["aliases"]
    for part in ("Idempotency-Key", "`email` (string, required)", '"email": "ada@helios.example"', "| `409` |"):
        assert part in page.text


def test_a_recursive_schema_ends():
    found = openapi.pages((API / "openapi.yaml").read_text(), "openapi.yaml")
    assert any("array of OrgUnit" in p.text for p in found.pages)


def test_comments_in_route_files():
    name = "reports.routes.ts"
    found = openapi.pages((API / "routes" / name).read_text(), name)
    assert sorted(read_frontmatter(p.text).metadata["title"] for p in found.pages) == [
        "GET /reports/{id}",
        "POST /reports",
    ]


def test_a_remote_reference_is_named_and_not_fetched():
    found = openapi.pages((API / "legacy.json").read_text(), "legacy.json")
    assert len(found.pages) == 1
    assert [p.code for p in found.problems] == ["openapi-reference"]
    assert "not fetched" in found.problems[0].message


def spec(**components):
    operation = {"get": {"parameters": [{"$ref": "#/components/parameters/A"}], "responses": {}}}
    return json.dumps({"openapi": "3.0.0", "paths": {"/a": operation}, "components": components})


def test_references_in_a_circle():
    found = openapi.pages(
        spec(parameters={"A": {"$ref": "#/components/parameters/B"}, "B": {"$ref": "#/components/parameters/A"}}),
        "a.json",
    )
    assert len(found.pages) == 1
    assert "refers to itself" in found.problems[0].message


def test_a_reference_to_nothing():
    assert "does not exist" in openapi.pages(spec(), "a.json").problems[0].message


def test_deep_nesting_and_alias_bombs_are_refused():
    deep = "[" * 50_000 + "]" * 50_000
    assert openapi.pages(deep, "a.json").problems[0].code == "bad-openapi"
    assert openapi.pages("a: " + deep, "a.yaml").problems[0].code == "bad-openapi"
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    assert "anchors" in openapi.pages(bomb, "a.yaml").problems[0].message


def test_what_is_no_description_has_no_page():
    assert expand("{}", "openapi.json", "openapi").pages == []
    assert "3.x" in openapi.pages('{"openapi": "2.0", "paths": {}}', "a.json").problems[0].message

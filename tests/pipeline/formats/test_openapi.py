"""One page an operation; local references followed, cycles survived, remote ones never fetched."""

import json

import yaml

from pipeline.formats import openapi, openapi_parts
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


DEFINITION = """
  export const options = { definition: {
    openapi: '3.0.3', info: { title: 'Depot' },
    servers: [{ url: 'https://{host}/api/v2', variables: { host: { default: 'depot.example' } } }],
    security: [{ Badge: [] }],
    components: {
      securitySchemes: { Badge: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, Key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
      schemas: { Bin: { type: 'object', required: ['id'], properties: {
        id: { type: 'string', example: 'b-1' }, size: { type: 'integer', example: 3 }, made: makeSchema() } } } } } };
"""
ROUTES = """
/**
 * @openapi
 * /bins/{id}:
 *   get:
 *     summary: Gets a bin
 *     responses:
 *       200: { description: ok, content: { application/json: { schema: { $ref: '#/components/schemas/Bin' } } } }
 *   delete:
 *     security: []
 *     responses: { 204: { description: gone } }
 *   put:
 *     security: [{ Key: [] }]
 *     responses: { 200: { description: '#', content: { application/json: { schema: { $ref: '#/components/schemas/Nowhere' } } } } }
 */
"""


def test_comments_are_read_with_the_definition_of_another_file():
    parts = openapi_parts.gather([(DEFINITION, "config/swagger.ts"), (ROUTES, "routes/bins.ts")])
    found = openapi.pages(ROUTES, "routes/bins.ts", parts)
    get, put, delete = (page.text for page in found.pages)
    assert "**Call:** `GET /api/v2/bins/{id}`" in get
    assert "- GET /api/v2/bins/{id}\n" in get
    assert "`https://depot.example/api/v2`" in get
    assert "**Authentication:** `Badge` (HTTP bearer JWT)" in get
    assert "**Authentication:** none" in delete
    assert "`Key` (header `X-Key`)" in put
    assert "- `id` (string, required): Example: `b-1`" in get
    assert '"id": "b-1",\n  "size": 3' in get
    assert [p.message for p in found.problems] == ["$ref '#/components/schemas/Nowhere' does not exist"]
    assert openapi.pages(DEFINITION, "config/swagger.ts", parts).problems == []


def test_a_base_path_that_a_route_spells_out_is_not_doubled():
    text = "openapi: 3.0.0\nservers: [{url: 'https://d.example/api'}]\npaths:\n  /api/bins: {get: {responses: {}}}\n  /racks: {get: {responses: {}}}\n"
    first, second = (page.text for page in openapi.pages(text, "openapi.yaml").pages)
    assert "`GET /api/bins`" in first
    assert "/api/api" not in first
    assert "`GET /api/racks`" in second


def test_a_description_over_several_files():
    files = {
        "api/openapi.yaml": "openapi: 3.1.0\npaths:\n  /bins: {$ref: 'paths/bins.yaml#/bins'}\n",
        "api/paths/bins.yaml": "bins:\n  get:\n    responses:\n      200: {description: ok, content: {application/json: {schema: {$ref: '../schemas.yaml#/Bin'}}}}\n",
        "api/schemas.yaml": "Bin: {type: object, properties: {rack: {$ref: '#/Rack'}}}\nRack: {type: object, properties: {row: {type: integer, description: From the door}}}\n",
    }
    parts = openapi_parts.gather([(text, path) for path, text in files.items()])
    page = openapi.pages(files["api/openapi.yaml"], "api/openapi.yaml", parts)
    assert page.problems == []
    assert "`row` (integer): From the door" in page.pages[0].text
    assert openapi.pages(files["api/schemas.yaml"], "api/schemas.yaml", parts).problems == []
    assert [p.code for p in openapi.pages("Lost: {}\n", "api/lost.yaml", parts).problems] == ["bad-openapi"]


def test_an_example_that_lacks_most_is_not_made():
    schema = "{type: object, properties: {a: {type: string, example: x}, b: {type: string}, c: {type: string}}}"
    text = f"openapi: 3.0.0\npaths:\n  /x: {{post: {{requestBody: {{content: {{application/json: {{schema: {schema}}}}}}}, responses: {{}}}}}}\n"
    assert "```json" not in openapi.pages(text, "openapi.yaml").pages[0].text


def test_a_block_of_jsdoc_ends_at_the_next_tag():
    text = """
    /**
     * @openapi
     * /bins:
     *   get:
     *     summary: Lists bins
     *     responses: {200: {description: ok}}
     * @param {Request} req the request
     * @returns {void}
     * @openapi
     * /racks:
     *   get: {summary: Lists racks, responses: {200: {description: ok}}}
     */
    """
    found = openapi_parts.read_comments(text, "a.ts")
    assert found.problems == []
    assert list(found.description["paths"]) == ["/bins", "/racks"]


def test_odd_parts_of_an_operation_are_passed_over():
    operation = {"tags": 5, "summary": "Lists bins", "responses": {"200": {"description": "ok"}}}
    text = json.dumps({"openapi": "3.0.0", "info": {}, "paths": {"/bins": {"get": operation}, "x-note": "mine"}})
    found = openapi.pages(text, "api.json")
    assert len(found.pages) == 1
    assert found.problems == []


def test_objects_nested_thousands_deep_are_no_definitions():
    text = "const a = " + "{openapi:" * 900 + "1" + "}" * 900 + "; const b = {openapi: '3.0.0', info: {title: 'Bins'}};"
    assert openapi_parts.read_comments(text, "a.ts").description["info"] == {"title": "Bins"}

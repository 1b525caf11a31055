"""Commands by name, on the demo's 53."""

from __future__ import annotations

import pytest

import syntropy
from syntropy.contract.errors import DocumentNotFoundError
from syntropy.contract.text import bare
from syntropy.read.commands import Commands


@pytest.fixture(scope="module")
def commands(demo):
    with syntropy.open(project=demo) as knowledge:
        return Commands(knowledge.database)


@pytest.mark.parametrize(
    ("name", "title", "how"),
    [
        ("helios gw users get <email>", "helios gw users get <email>", "exact"),
        ("helios gw users get", "helios gw users get <email>", "exact"),
        ("  HELIOS  gw users GET ", "helios gw users get <email>", "exact"),
        ("helios gw users get <mail>", "helios gw users get <email>", "exact"),
        ("helios gw users create", "helios gw users create <email> --firstName --lastName --password", "exact"),
        ("look up one google user", "helios gw users get <email>", "alias"),
        ("helios gw sig get", "helios gw signature get <email>", "alias"),
        ("cmd-gw-users-get", "helios gw users get <email>", "id"),
        ("helios gw users get ada@acme.example", "helios gw users get <email>", "arguments"),
        ("helios gw users lst", "helios gw users list", "nearest"),
    ],
)
def test_a_command_is_found_by(commands, name, title, how):
    match = commands.find(name)
    assert (match.command.title, match.how) == (title, how)
    assert bool(match.difference) == (how in ("nearest", "arguments"))


def test_the_difference_is_told(commands):
    assert commands.find("helios gw users lst").difference == "not in it: lst; it has also: list"


def test_what_is_near_nothing_is_an_error_that_names_the_list(commands):
    with pytest.raises(DocumentNotFoundError, match="list_commands"):
        commands.find("zzzz qqqq")


def test_categories(commands):
    assert commands.categories()["developer-console/google-workspace"] > 20
    assert {c.subcategory for c in commands.of("google-workspace")} == {"google-workspace"}
    assert len(commands.of("")) == len(commands.all) == 53
    with pytest.raises(DocumentNotFoundError, match="categories: developer-console"):
        commands.of("nope")


def test_bare_names():
    assert bare("helios gw users move <email> --ou") == "helios gw users move"
    assert bare("parcelctl ship <parcel_ids> [options]") == "parcelctl ship"
    assert bare("helios gw groups add-member <group> <user> --role") == "helios gw groups add-member"


@pytest.mark.parametrize("name", ["helios gw users unsuspend", "git help", "docker clear"])
def test_what_is_another_command_is_not_taken_for_one(commands, name):
    with pytest.raises(DocumentNotFoundError, match="no such command"):
        commands.find(name)


def test_a_unique_part_of_a_name_opens_it_and_arguments_stay_as_typed(commands):
    assert commands.find("users suspend").command.title.startswith("helios gw users suspend")
    assert commands.find("helios gw users get Ada@Acme.example").difference == "Ada@Acme.example taken as arguments"

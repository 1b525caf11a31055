"""Limits of configuration keys: each that is declared is enforced, and told to editors."""

from dataclasses import fields

import pytest

from syntropy.contract.config import Config, json_schema, load_config, sections
from syntropy.contract.errors import ConfigError

LIMITED = [
    (section, one.name, one.metadata, one.default)
    for section, cls in sections().items()
    for one in fields(cls)
    if {"at_least", "at_most", "above", "pattern"} & one.metadata.keys()
]


def refused(section, key, value):
    with pytest.raises(ConfigError, match=rf"{section}\.{key}"):
        load_config(None, flags={section: {key: value}}, env={})


@pytest.mark.parametrize(("section", "key", "limits", "default"), LIMITED)
def test_each_limit_is_enforced_and_each_default_keeps_it(section, key, limits, default):
    assert getattr(getattr(Config(), section), key) == default
    load_config(None, flags={section: {key: default}}, env={})
    kind = type(default)
    if "at_least" in limits:
        refused(section, key, kind(limits["at_least"] - 1))
    if "at_most" in limits:
        refused(section, key, kind(limits["at_most"] + 1))
    if "above" in limits:
        refused(section, key, kind(limits["above"]))
    if "pattern" in limits:
        refused(section, key, "no such thing, whatever it is")
    if kind is float:
        for value in (float("nan"), float("inf")):
            refused(section, key, value)


def test_the_schema_for_editors_has_the_same_limits():
    properties = json_schema()["properties"]
    assert properties["search"]["properties"]["threshold"] == {
        "type": "number", "minimum": 0, "maximum": 1, "default": 0.0, "description": "hits below this score (0-1) are left out",
    }  # fmt: skip
    assert properties["embed"]["properties"]["timeout_seconds"]["exclusiveMinimum"] == 0
    assert len(LIMITED) > 40

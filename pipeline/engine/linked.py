"""Mentions resolved shard by shard: again only where they, or anything that has a name, changed."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import polars as pl

from pipeline.engine.context import Build, Inputs
from pipeline.engine.records import Part
from pipeline.engine.stages import stage_named
from pipeline.ground.digests import digest
from pipeline.ground.tables import conform, packed
from pipeline.link.linking import RESOLVED_BY, link_mentions
from pipeline.link.targets import Resolver
from syntropy.contract.schema import LINKS, UNRESOLVED

KEYS, CHECKED = "links from", "checked by shard"
"""Facts of the record: what each part was made from, and how many claims were checked for it."""


class Linked(NamedTuple):
    """A part a shard of `links` and `unresolved`, and how many claims were checked for each."""

    links: list[Part]
    unresolved: list[Part]
    checked: list[int]
    made_from: list[str]


def link_shards(build: Build, inputs: Inputs, documents: pl.DataFrame) -> Linked:
    """Resolve the mentions of shards in which something changed; `documents` without their texts, of all shards."""
    records, former = build.records, inputs.former_record
    rules, sources = inputs.only("rules", "label", "document"), inputs.only("sources", "package", "path")
    frames = (documents.select(RESOLVED_BY), rules, sources)
    names = digest(*(hashlib.sha256(packed(frame)).hexdigest() for frame in frames))
    mentions = inputs.parts("mentions")
    keys = [digest(build.method_of(stage_named("relations")), names, part.sha256) for part in mentions]
    known = former.facts.get(KEYS, []) if former else []
    found = Linked([], [], [], keys)
    resolver: Resolver | None = None
    for shard, key in enumerate(keys):
        if former and shard < len(known) == len(keys) and known[shard] == key:
            found.links.append(former.tables["links"][shard])
            found.unresolved.append(former.tables["unresolved"][shard])
            found.checked.append(former.facts[CHECKED][shard])
            continue
        resolver = resolver or Resolver(documents, rules, sources)
        own = records.read([mentions[shard]]) if len(keys) > 1 else inputs["mentions"]
        links = link_mentions(resolver, documents, own)
        found.links.append(records.write("relations", "links", conform(LINKS, links.relations)))
        found.unresolved.append(records.write("relations", "unresolved", conform(UNRESOLVED, links.unresolved)))
        found.checked.append(links.checked)
    return found

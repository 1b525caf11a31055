"""Shards: parts of a large knowledge base, each a database file of its own, and the order of documents in all of them.

A document's place is a hash of its file's name: the hash decides the shard, and documents are numbered in the order of
their hashes. So the order of all numbers is the same in however many shards they lie, and equal scores are told apart
alike. A knowledge base of one shard is one file.
"""

from __future__ import annotations

import hashlib

STRIDE = 2**24
"""Numbers a shard has for its documents, and for its chunks: shard n has n * STRIDE + 1 and on."""

MOST_SHARDS = 127
"""More would not fit into 31 bits."""


def home_of(uid: str) -> int:
    """Where a document (or file) lies: 64 bits of a digest of its file's uid. Parts of a file lie together."""
    file = uid.partition("#")[0]
    return int.from_bytes(hashlib.sha256(file.encode("utf-8", "surrogatepass")).digest()[:8])


def shard_of(uid: str, shards: int) -> int:
    """Number of the shard, from 0, that holds a document or file."""
    return home_of(uid) * shards >> 64


FOLDER = "shards"
"""Where they lie below the published folder."""


def shard_file(number: int) -> str:
    """Path of a shard's database below the published folder."""
    return f"{FOLDER}/{number:03}.duckdb"

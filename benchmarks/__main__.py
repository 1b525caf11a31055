"""`python -m benchmarks [NAME …]`: all benchmarks, or those named."""

import sys

from benchmarks import (
    agents,
    answers,
    build,
    chunking,
    cli,
    embedding,
    encoder,
    federation,
    growth,
    house,
    incremental,
    notes,
    quality,
    scale,
    shards,
    speed,
)

ALL = {
    "cli": cli.main,
    "embedding": embedding.main,
    "encoder": encoder.main,
    "growth": growth.main,
    "house": house.main,
    "build": build.main,
    "scale": scale.main,
    "incremental": incremental.main,
    "shards": shards.main,
    "federation": federation.main,
    "quality": quality.main,
    "quality-small": quality.small,
    "speed": speed.main,
    "notes": notes.main,
    "agents": agents.main,
    "answers": answers.main,
    "chunking": chunking.main,
    "build-dlt-docs": lambda: build.main("dlt-docs"),
    "build-aws-docs-small": lambda: build.main("aws-docs-small"),
    "build-aws-docs-small-lexical": lambda: build.main("aws-docs-small-lexical"),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or (
        "cli",
        "embedding",
        "encoder",
        "growth",
        "house",
        "quality",
        "chunking",
        "speed",
        "notes",
        "agents",
        "answers",
        "build",
        "scale",
        "incremental",
        "shards",
        "federation",
    ):
        ALL[name]()

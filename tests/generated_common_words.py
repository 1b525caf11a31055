"""Writes `syntropy/contract/common_words.py`: what English says of everything, so that it tells nothing of a corpus.

`python -m tests.generated_common_words` (part of `make docs`) writes it anew from the bundled model's vocabulary, whose
whole words stand in the order of their frequency.
"""

from __future__ import annotations

import json
import re
import textwrap

from syntropy.contract.text import index_terms
from tests.conftest import ROOT

TARGET = ROOT / "syntropy" / "contract" / "common_words.py"
VOCABULARY = ROOT / "pipeline" / "embed" / "tokenizer.json"
COUNT = 2_000
"""Words; measured with 500 to 30,000 in decision 25: more take names of things for common words."""

_MODULE = '''"""The commonest English words, as terms: written by `python -m tests.generated_common_words`.

Of a question's words that occur nowhere these say how it was put (`supposed`, `away`), others what it is about.
"""

from __future__ import annotations

from functools import lru_cache

_PACKED = """
{words}
"""


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """The terms."""
    return frozenset(_PACKED.split())
'''


def common_words_module() -> str:
    """The module's source."""
    vocabulary = json.loads(VOCABULARY.read_text())["model"]["vocab"]
    by_place = sorted(vocabulary.items(), key=lambda entry: entry[1])
    words = [word for word, _ in by_place if re.fullmatch("[a-z]{2,}", word)][:COUNT]
    terms = sorted({term for word in words for term in index_terms(word)})
    return _MODULE.format(words=textwrap.fill(" ".join(terms), 118, break_on_hyphens=False))


if __name__ == "__main__":
    TARGET.write_text(common_words_module())

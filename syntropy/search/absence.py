"""Is what was asked here at all? A threshold that each corpus gives itself, without labels.

Questions made of words that stand in the corpus, but were drawn by chance, find their best passages by chance, too:
the distribution of their scores says from where on a score means something. The build asks them (`null_questions`)
and stores a quantile for each mode; a reader compares. A word that occurs nowhere costs the share of the question's
information that it holds: an absent name among known words is what most questions about absent things look like.
Words that English uses for everything (`contract.common_words`) cost nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..contract.common_words import common_words
from ..contract.config import SearchConfig
from ..contract.text import is_unspaced, shortened, words
from .profiles import DECIDING

QUESTIONS = 150
"""Questions drawn for a mode: the quantile moves by about .01 between draws."""

QUANTILES = {"hybrid": 0.4, "semantic": 0.4, "fast": 0.1}
"""Share of the chance scores a best hit has to beat. By words alone chance is good (three words of a corpus are often
found together), so less of it has to be beaten. Chosen on questions of our own (decision 25)."""

UNKNOWN_COST = 0.3
"""What a question of unknown words alone loses of its score (decision 25)."""

MOST_UNKNOWN = 0.5
"""Share of the information in unknown words that makes a question absent where no threshold is known."""

FEWEST_WORDS = 50
"""Distinct words below which a corpus is too small to draw questions from: only unknown words count then."""

_SHOWN, _MOST_NAMED = 40, 8
"""Characters of an unknown word, and how many of them, that an answer repeats."""

_FORM = "how do I use {} {} for {}"
_SEED = 7
_SHORTEST, _LONGEST = 4, 14

META_KEY = "absence"


def null_questions(texts: Sequence[str], count: int = QUESTIONS) -> list[str]:
    """Questions of chance words of the texts, the same for the same texts; none of too few words.

    Only words that two texts hold are drawn, and none of scripts that write no spaces: their runs are not words.
    """
    held: dict[str, int] = {}
    for text in texts:
        for word in {w for w in words(text) if _SHORTEST <= len(w) <= _LONGEST and w.isalpha() and not is_unspaced(w)}:
            held[word] = held.get(word, 0) + 1
    drawn = sorted(word for word, times in held.items() if times > 1)
    if len(drawn) < FEWEST_WORDS:
        return []
    import random  # the build draws; a search must not load it

    source = random.Random(_SEED)  # noqa: S311 (no secret: the same questions in every build)
    return [_FORM.format(*(source.choice(drawn) for _ in range(3))) for _ in range(count)]


def threshold(scores: Sequence[float], mode: str) -> float:
    """The score from which a best hit of this mode means something; 0 without any scores."""
    ordered = sorted(scores)
    return round(ordered[int(len(ordered) * QUANTILES[mode])], 3) if ordered else 0.0


def stored(thresholds: Mapping[str, float], settings: SearchConfig) -> str:
    """Thresholds with the settings they hold for, as `meta` keeps them."""
    return json.dumps({"thresholds": dict(thresholds), "settings": deciding(settings)}, sort_keys=True)


def deciding(settings: SearchConfig) -> dict[str, object]:
    """What of the settings decides scores."""
    return {name: getattr(settings, name) for name in DECIDING}


def threshold_of(meta: Mapping[str, str], mode: str, settings: SearchConfig) -> float:
    """The stored threshold of a mode; 0 where there is none for these settings."""
    known = json.loads(meta.get(META_KEY) or "{}")
    if known.get("settings") != deciding(settings):
        return 0.0
    return float(known["thresholds"].get(mode, 0.0))


def is_common(term: str) -> bool:
    """Is it a word that English uses for everything?"""
    return term in common_words()


def why_absent(best: float, limit: float, unknown: Sequence[str], unknown_share: float) -> str:
    """Why a question has no answer here, in words; empty where the best hit means something.

    `best` is the best hit's score, `unknown` the question's words that occur nowhere and say what it is about,
    `unknown_share` what they hold of its information.
    """
    if best > 0 and (best - UNKNOWN_COST * unknown_share >= limit if limit else unknown_share < MOST_UNKNOWN):
        return ""
    named = [shortened(word, _SHOWN) for word in unknown[:_MOST_NAMED]] + ["…"] * (len(unknown) > _MOST_NAMED)
    said = [f"{', '.join(named)} occur{'' if len(unknown) > 1 else 's'} nowhere"] if unknown else []
    if best <= 0:
        said.append("nothing was found")
    elif best < limit:
        said.append(f"the best passage scores {best:.2f}, and chance alone reaches {limit:.2f}")
    return "; ".join(said)

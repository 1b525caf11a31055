"""Writes `syntropy/contract/fold_table.py`: what DuckDB makes of every character, so that readers need not ask it.

`python -m tests.generated_folds` (part of `make docs`) writes it anew for another version of DuckDB.
"""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import duckdb

from syntropy.contract.vocabulary import TOKEN_BREAK

TARGET = Path(__file__).resolve().parent.parent / "syntropy" / "contract" / "fold_table.py"
LAST = 0x110000

_MODULE = '''"""What DuckDB's full-text index makes of each character: written by `python -m tests.generated_folds`.

Python, DuckDB's `lower(strip_accents(…))` and its regular expressions each know another version of Unicode.
The table holds DuckDB {version}'s answers, so that a word has the same terms whichever Python reads.
"""

from __future__ import annotations

import base64
import bisect
import zlib
from functools import lru_cache

_PACKED = (
{lines}
)


@lru_cache(maxsize=1)
def _runs() -> tuple[list[int], list[int]]:
    """Where each run of characters begins, and its code: 0 a break, 1 dropped, else 2 + zigzag(shift)."""
    starts: list[int] = []
    codes: list[int] = []
    position = value = shift = 0
    numbers: list[int] = []
    for byte in zlib.decompress(base64.b85decode("".join(_PACKED))):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    for gap, code in zip(numbers[::2], numbers[1::2], strict=True):
        position += gap
        starts.append(position)
        codes.append(code)
    return starts, codes


def folded(code_point: int) -> str:
    """The character in lower case without accents, `""` for a mark that is dropped, `" "` for what is not a word."""
    starts, codes = _runs()
    code = codes[bisect.bisect_right(starts, code_point) - 1]
    if code < 2:
        return "" if code else " "
    shift = (code - 2) >> 1
    return chr(code_point - shift - 1 if code & 1 else code_point + shift)
'''


def answers() -> list[str]:
    """What DuckDB makes of each code point: a character, `""`, or `" "` for what it splits on."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            f"SELECT point, regexp_replace(lower(strip_accents(chr(point::INTEGER))), '{TOKEN_BREAK}', ' ', 'g') "
            f"FROM range(1, {LAST}) points(point) WHERE point NOT BETWEEN {0xD800} AND {0xDFFF}"
        ).fetchall()
    found = [" "] * LAST
    for point, text in rows:
        assert len(text) <= 1, (point, text)
        found[point] = text
    return found


def packed(found: list[str]) -> bytes:
    """Runs of equal codes as variable-length numbers, compressed."""
    numbers: list[int] = []
    former, start = -1, 0
    for point, text in enumerate(found):
        if text == " ":
            code = 0
        elif text == "":
            code = 1
        else:
            shift = ord(text) - point
            code = 2 + 2 * shift if shift >= 0 else 2 + 2 * (-shift - 1) + 1
        if code != former:
            numbers += [point - start, code]
            former, start = code, point
    data = bytearray()
    for number in numbers:
        while number > 127:
            data.append(number & 127 | 128)
            number >>= 7
        data.append(number)
    return zlib.compress(bytes(data), 9)


def module() -> str:
    """The module's source."""
    text = base64.b85encode(packed(answers())).decode()
    lines = "\n".join(f"    {text[n : n + 110]!r}" for n in range(0, len(text), 110))
    return _MODULE.replace("{version}", duckdb.__version__).replace("{lines}", lines)


if __name__ == "__main__":
    TARGET.write_text(module())

"""How many tokens a text is, near enough to keep a budget without a model's own tokenizer."""

from __future__ import annotations

BYTES_PER_TOKEN = 4
"""English prose has 4 to 4.5 bytes a token, code and JSON 3 to 4, Korean and Japanese 3 to 4 (UTF-8): bytes,
unlike characters, do not take scripts of three bytes a letter for cheap."""


def tokens(text: str) -> int:
    """Tokens of a text, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def cut(text: str, limit: int) -> str:
    """The longest beginning of at most `limit` tokens; it ends at a line or a word where one is near."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit * BYTES_PER_TOKEN:
        return text
    head = raw[: max(0, limit) * BYTES_PER_TOKEN].decode("utf-8", "ignore")
    for mark in ("\n", " "):
        place = head.rfind(mark, len(head) // 2)
        if place > 0:
            return head[: place + 1]
    return head


SESSION_TOKENS = 800
"""What an agent is told at the start of a session, unless it asks for more; rules are never cut."""

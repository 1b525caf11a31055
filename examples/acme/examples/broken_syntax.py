"""A file that does not parse: the parenthesis in line 7 is never closed.

Tags: broken, syntax
"""


def estimate_days(distance_km: float, carrier: str -> int:
    """Guess the delivery time in days."""
    if carrier == "nordpost"
        return 4
    return max(1, round(distance_km / 400))

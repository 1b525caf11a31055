"""Opening what was published."""

"""A query to hits."""

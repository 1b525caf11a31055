"""Vectors: weights, windows' texts, engines and the content-addressed cache."""

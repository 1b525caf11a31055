"""Mentions to relations, similar and duplicate documents, drift."""

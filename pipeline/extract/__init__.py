"""Texts to documents, tags, headings, mentions and rules."""

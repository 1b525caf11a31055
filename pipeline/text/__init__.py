"""Bytes and marks."""

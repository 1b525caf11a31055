"""The living layer: insights, rules and notes that people and agents write between builds, in one SQLite file.

It lies outside of the artifacts and is never touched by a build. Reading goes on without it.
"""

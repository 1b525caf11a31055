"""How knowledge is made: connectors and the stages extract, chunk, embed, link, store and render.

Stages are functions from tables to tables. They know no clock, no network and no Dagster.
"""

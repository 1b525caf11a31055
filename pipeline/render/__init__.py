"""Tables to artifacts: syntropy-index.json, INDEX.md, query.py, manifest.json, the query encoder."""

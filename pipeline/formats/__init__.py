"""Files that are not Markdown to pages that are: entries, command sources, API descriptions, notebooks, tables.

Every module gives `pages(text, path)`: Markdown texts with YAML frontmatter, one for each thing that
somebody may look for, which the extract stage then reads like any other Markdown. `expand` picks one.
"""

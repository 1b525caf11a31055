"""`query.py`: a standalone read-only reader for people who have just the artifacts.

Words are folded by DuckDB itself, identifiers by the reader's own source (`syntropy.contract.text`), taken
over by name, so that neither can drift from the index.
"""

from __future__ import annotations

import inspect
from functools import lru_cache

import duckdb
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from syntropy.contract import text as analysis
from syntropy.contract.published import DATABASE
from syntropy.contract.schema import SCHEMA_VERSION, STEMMER, STOP_WORDS, TOKEN_BREAK

_CONSTANTS = ("_CANDIDATE", "_SEPARATOR", "_CAMEL", "MAX_JOINED", "UNSPACED", "_UNSPACED")
_FUNCTIONS = ("_expanded", "_parts", "expanded_word", "identifier_text", "_pairs")


@lru_cache(maxsize=1)
def render_query_script() -> str:
    """The script's source; the same for every project of one version."""
    source = inspect.getsource(analysis)
    constants = [line for line in source.splitlines() if line.split(" = ")[0] in _CONSTANTS]
    functions = [inspect.getsource(inspect.unwrap(getattr(analysis, name))) for name in _FUNCTIONS]
    functions = [text[text.index("def ") :] for text in functions]
    environment = Environment(
        loader=PackageLoader("pipeline.render"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=select_autoescape(),
    )
    return environment.get_template("query.py.jinja").render(
        duckdb_version=duckdb.__version__,
        database=DATABASE,
        schema_version=SCHEMA_VERSION,
        stemmer=STEMMER,
        stop_words=" ".join(STOP_WORDS),
        token_break=TOKEN_BREAK,
        analysis="\n".join(constants) + "\n\n\n" + "\n\n".join(functions).rstrip(),
    )

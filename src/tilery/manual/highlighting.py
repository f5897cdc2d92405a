"""A lexer for Pygments, which finds it under the name `tileir` where tilery is installed."""

from __future__ import annotations

import re
from typing import Any

from pygments import token
from pygments.lexer import RegexLexer

from .grammars import rules

_TOKENS = {
    "comment": token.Comment.Single,
    "entity.name.function": token.Name.Function,
    "support.function": token.Name.Builtin,
    "string": token.String,
    "variable": token.Name.Variable,
    "entity.name.type": token.Name.Class,
    "constant.other": token.Name.Constant,
    "entity.name.label": token.Name.Label,
    "keyword.control": token.Keyword,
    "storage": token.Keyword.Type,
    "constant.language": token.Keyword.Constant,
    "keyword.other": token.Keyword.Pseudo,
    "constant.numeric": token.Number,
    "keyword.operator": token.Operator,
}


def _token(scope: str) -> Any:
    return next(kind for prefix, kind in _TOKENS.items() if scope.startswith(prefix))


def _pattern(scope: str, pattern: str) -> str:
    """Return a pattern for Python: look-behind has a fixed width there, and blanks are tokens of their own."""
    if scope != "keyword.control":
        return pattern
    return pattern[pattern.index("(", pattern.index(")(")) :]


class TileIRLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """The text of CUDA Tile IR.

    >>> [text for kind, text in TileIRLexer().get_tokens("%0 = iota : tile<8xi32>") if kind in token.Keyword]
    ['iota', 'tile', 'i32']
    """

    name = "CUDA Tile IR"
    aliases = ["tileir"]
    filenames = ["*.tileir", "*.mlir"]
    mimetypes = ["text/x-tileir"]
    url = "https://docs.nvidia.com/cuda/tile-ir/"
    flags = re.MULTILINE
    tokens = {
        "root": [
            (r"\s+", token.Whitespace),
            *((_pattern(scope, pattern), _token(scope)) for scope, pattern in rules()),
            (r"x(?=[0-9?a-z])", token.Operator),
            (r"[\w$.]+", token.Name),
            (r".", token.Punctuation),
        ]
    }

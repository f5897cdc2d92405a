"""The fast path of the parser: each canonical line by one regular expression, everything else piece by piece.

It reports no errors. If anything is wrong, or needs a position in the text, it gives up, and the piecewise parser reads
the whole text again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from ....attrs import DILexicalBlock, DILoc, DISubprogram, FileLineCol, Loc
from ....declare.codegen import GiveUp
from ....declare.operation import BY_NAME, OpDef
from ....diag import TileError
from ....ir import Block
from ....types import Type
from ... import DIALECT
from ...format import Piece
from ...lexer import BLANKS, SPACE, SUFFIX, TOKEN, tokens
from ..attributes import set_alias
from ..operations import close_region, finish, parse_item
from ..state import OperationState, ParseOptions, Parser, PieceParser, Syntax
from ..types import parse_type, parse_types
from .forms import QuickForm, bind_of

# The results of an op, at most two, and its name.
_HEAD = re.compile(
    rf"{SPACE}(?:(%{SUFFIX})(?:, (%{SUFFIX}))?+ = )?+(?:{re.escape(DIALECT)})?+([a-z][a-z0-9_]*+)(?![\w$.<])"
)
_ID = r"#([A-Za-z_][A-Za-z0-9_]*+)"
_ALIAS = re.compile(
    rf"{SPACE}{_ID} = (?:loc\(\"([^\"\\\n\v\f]*+)\":([0-9]{{1,9}}+):([0-9]{{1,9}}+)\)"
    rf"|#cuda_tile\.di_loc<{_ID} in {_ID}>)[ ]*+(?=\n|\Z)"
)
_END = re.compile(rf"{SPACE}\}}(?: loc\((#[A-Za-z_][A-Za-z0-9_]*+)\))?+[ ]*+\n(?!{SPACE}(?:else|loc|attributes|\{{))")
_REMEMBERED = 256
"""Attributes with a longer text are parsed each time."""
_LINES = 32
"""Operations that take more lines up to their first region make the fast path give up."""
_SPARE = 10_000
"""The number of characters, beyond the length of the text, that may be tokenized a second time."""
_AHEAD = 8
"""The number of tokens to look at after a line with `else`: as many as an empty region and a location take."""


def quick_parse(text: str, forms: Mapping[str, Syntax], options: ParseOptions) -> Block | None:
    """Return a block of the top-level operations, or None if the piecewise parser must read the text."""
    p = Parser(text, [], forms, options)
    p.has_positions = False
    p.types = _Types(p)
    try:
        _parse_lines(p)
        finish(p)
    except (GiveUp, TileError, IndexError, KeyError):
        return None
    return p.scopes[0].block


def _parse_lines(p: Parser) -> None:
    text, head, forms = p.text, _HEAD.match, _Forms(p)
    spare = len(text) + _SPARE
    at, scope = 0, p.scopes[0]
    ops, names = scope.block.ops, scope.names
    while True:
        found = head(text, at)
        if found is not None:
            name, second, word = found.groups()
            form = forms[word]
            if form is not None and (end := form(text, found.end(), name, second, ops, names)):
                at = end
                continue
        elif (end := _end(p, at)) or (end := _alias(p, at)):
            at = end
            scope = p.scopes[-1]
            ops, names = scope.block.ops, scope.names
            continue
        at, again = _item(p, at)
        # A long line with many operations must not take quadratic time.
        spare -= again
        if spare < 0:
            raise GiveUp
        if at < 0:
            return
        scope = p.scopes[-1]
        ops, names = scope.block.ops, scope.names


def _end(p: Parser, at: int) -> int:
    """Parse a bracket that ends an operation; return the end offset, or 0 if there is no match."""
    found = _END.match(p.text, at) if len(p.scopes) > 1 else None
    if found is None:
        return 0
    loc = found[1]
    p.toks, p.i = ["}", ""] if loc is None else ["}", "loc", "(", loc, ")", ""], 0
    close_region(p)
    return found.end()


def _alias(p: Parser, at: int) -> int:
    """Parse a location alias of one of the two common forms; return the end offset, or 0 if there is no match."""
    found = _ALIAS.match(p.text, at) if len(p.scopes) == 1 else None
    if found is None:
        return 0
    name, file, line, column, source, scope = found.groups()
    made: Loc
    if file is not None:
        made = FileLineCol(file, int(line), int(column))
    else:
        inner, outer = p.aliases.get(source), p.aliases.get(scope)
        if not isinstance(inner, FileLineCol) or not isinstance(outer, (DISubprogram, DILexicalBlock)):
            return 0
        made = DILoc(inner, outer)
    if name in p.aliases:
        return 0
    set_alias(p, name, made)
    return found.end()


def _item(p: Parser, at: int) -> tuple[int, int]:
    """Parse an item piece by piece.

    Return its end offset, or -1 at the end of the text, and how many characters will be tokenized again.
    """
    lines = 1
    while True:
        end, count = _window(p, at, lines)
        first, depth = p.toks[0][:1], len(p.scopes)
        if count == 0 and depth == 1 and end == len(p.text):
            return -1, 0
        if first == "":
            raise GiveUp
        try:
            parse_item(p)
        except IndexError:
            # If an operation was not read to its end, nothing has changed yet: try again with more lines.
            if first == "}" or depth != len(p.scopes) or lines >= _LINES:
                raise GiveUp from None
            lines *= 4
            continue
        if p.i == count:
            return end, 0
        behind = _offset(p, at)
        return behind, end - behind


def _offset(p: Parser, at: int) -> int:
    """Return the end offset of the tokens that were read, the first of which starts at `at`."""
    for _ in range(p.i):
        found = TOKEN.match(p.text, at)
        assert found is not None
        at = found.end()
    return at


def _window(p: Parser, at: int, lines: int) -> tuple[int, int]:
    """Hand the parser the tokens of some lines, and a few more that may continue the operation.

    Return where the lines end, and how many tokens they have.
    """
    text = p.text
    found = TOKEN.match(text, at)
    assert found is not None
    start = end = found.start(1)
    for _ in range(lines):
        end = text.find("\n", end) + 1
        if end == 0:
            end = len(text)
            break
    toks = _tokens_of(text[start:end])
    count, ahead = len(toks), end
    more = _AHEAD if toks[1:2] == ["else"] else 1
    while more:
        found = TOKEN.match(text, ahead)
        assert found is not None
        token, ahead = found[1], found.end()
        toks.append(token)
        more = 0 if token == "" else _AHEAD if token == "else" else more - 1
    p.toks, p.i = toks, 0
    return end, count


def _tokens_of(lines: str) -> list[str]:
    """Return the tokens of whole lines, without the empty one at the end."""
    lines = lines.rstrip(BLANKS)
    if "//" in lines:
        if '"' in lines or "\n" in lines or "\r" in lines:
            raise GiveUp
        lines = lines[: lines.index("//")].rstrip(BLANKS)
    if not lines:
        return []
    toks: list[str] = TOKEN.findall(lines)
    if toks.count("") != 1:  # a character that starts no token
        raise GiveUp
    toks.pop()
    return toks


# ---------------------------------------------------------------- what the functions of operations look up


class _Types(dict[str, Type]):
    """Types by their text; the piecewise parser reads a new one."""

    def __init__(self, p: Parser) -> None:
        super().__init__(p.types)
        self.p = p

    def __missing__(self, text: str) -> Type:
        p = self.p
        p.toks, p.i = tokens(text), 0
        try:
            made = parse_type(p)
        except (GiveUp, IndexError, TileError):
            raise KeyError(text) from None
        if p.i < len(p.toks) - 1:
            raise KeyError(text)
        return made


class _Forms(dict[str, QuickForm | None]):
    """The functions of operations by name; None for an operation without a fast path."""

    def __init__(self, p: Parser) -> None:
        super().__init__()
        self.p = p

    def __missing__(self, word: str) -> QuickForm | None:
        opdef = BY_NAME.get(word)
        form = None
        if opdef is not None and (self.p.options.testing or not opdef.testing) and (bind := bind_of(opdef)) is not None:
            form = bind(self.p, Memo)
        self[word] = form
        return form


class Memo(dict[str, Any]):
    """The values of attributes, or of lists of types, by their text; KeyError if the piecewise parser refuses one."""

    def __init__(self, p: Parser, read: PieceParser | None, name: str, opdef: OpDef, pieces: tuple[Piece, ...]) -> None:
        super().__init__()
        self.p, self.read, self.name, self.opdef, self.pieces = p, read, name, opdef, pieces

    def __missing__(self, text: str) -> Any:
        p = self.p
        p.toks, p.i = tokens(text.lstrip(" ,") if self.read is None else text), 0
        try:
            if self.read is None:
                value: Any = tuple(parse_types(p)) if text else ()
            else:
                s = OperationState(self.opdef, _no_build, self.pieces)
                self.read(p, s)
                value = s.values[self.name]
        except (GiveUp, IndexError, TileError):
            raise KeyError(text) from None
        if p.i < len(p.toks) - 1:
            raise KeyError(text)
        if len(text) <= _REMEMBERED:
            self[text] = value
        return value


def _no_build(p: Parser, s: OperationState, at: int) -> NoReturn:
    raise GiveUp

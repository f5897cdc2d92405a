"""Text -> operations, the fast path: canonical lines by one regular expression each, all others piece by piece.

It never reports an error. Where anything is wrong, or looks at places in the text, the whole text is read once more by
the piecewise parser alone, whose answer counts.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ...attrs import DILexicalBlock, DILoc, DISubprogram, FileLineCol, Loc
from ...declare.codegen import GiveUp
from ...declare.operation import BY_NAME, OpDef
from ...diag import TileError
from ...ir import Block
from ...types import Type
from ..format import Piece
from ..lexer import BLANKS, SPACE, SUFFIX, TOKEN, tokens
from ..print.parts import DIALECT
from .cursor import Mark
from .fields import Step
from .parser import Parser
from .quick_forms import QuickForm, bind_of, is_bound
from .state import State

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
"""Texts of attributes that are longer are read each time."""
_PATIENCE = 20
"""How many ops of a kind are read piece by piece before the fast path for them is made."""
_LINES = 32
"""An operation of more lines, up to its first region, is for the piecewise parser."""


_SPARE = 10_000
"""How many characters more than the text has may be read a second time."""
_AHEAD = 8
"""How many tokens behind a line with `else` are looked at: as many as an empty region and a location take."""


class _Known(dict[str, Any]):
    """What the texts of an attribute, or of types, stand for; KeyError where the piecewise parser refuses one."""

    def __init__(self, parser: QuickParser, step: Step | None, name: str, opdef: OpDef, pieces: tuple[Piece, ...]):
        super().__init__()
        self.parser, self.step, self.name, self.opdef, self.pieces = parser, step, name, opdef, pieces

    def __missing__(self, text: str) -> Any:
        p = self.parser
        p.toks, p.i = tokens(text.lstrip(" ,") if self.step is None else text), 0
        try:
            if self.step is None:
                value: Any = tuple(p.types()) if text else ()
            else:
                s = State(self.opdef, _no_build, self.pieces)
                self.step(p, s)
                value = s.values[self.name]
        except (GiveUp, IndexError, TileError):
            raise KeyError(text) from None
        if p.i < len(p.toks) - 1:
            raise KeyError(text)
        if len(text) <= _REMEMBERED:
            self[text] = value
        return value


def _no_build(p: Parser, s: State, at: int) -> NoReturn:
    raise GiveUp


class QuickParser(Parser):
    """The piecewise parser with few tokens at a time, and a fast path beside it."""

    def __init__(self, text: str, testing: bool) -> None:
        super().__init__(text, "", False, testing, toks=[])
        self.seen = _Types(self)
        self.spare = len(text) + _SPARE

    def span(self, mark: Mark | None = None) -> NoReturn:
        """Places are looked up for messages, and for texts that are kept as they are."""
        raise GiveUp

    def known(self, step: Step | None, name: str, opdef: OpDef, pieces: tuple[Piece, ...]) -> _Known:
        """A memory for one piece of an op."""
        return _Known(self, step, name, opdef, pieces)

    def run(self) -> Block:
        """Parse everything; the operations outside of all others. Raises GiveUp."""
        try:
            self._lines()
            self._finalize()
        except (TileError, IndexError, KeyError):
            raise GiveUp from None
        return self.scopes[0].block

    def _lines(self) -> None:
        text, head, forms = self.text, _HEAD.match, _Forms(self)
        at, scope = 0, self.scopes[0]
        ops, names = scope.block.ops, scope.names
        while True:
            found = head(text, at)
            if found is not None:
                name, second, word = found.groups()
                form = forms[word]
                if form is not None and (end := form(text, found.end(), name, second, ops, names)):
                    at = end
                    continue
            elif (end := self._end(at)) or (end := self._alias(at)):
                at = end
                scope = self.scopes[-1]
                ops, names = scope.block.ops, scope.names
                continue
            at = self._item(at)
            if at < 0:
                return
            scope = self.scopes[-1]
            ops, names = scope.block.ops, scope.names

    def _end(self, at: int) -> int:
        """Read a bracket that ends an operation; gives the place behind it, 0 if it is no such."""
        found = _END.match(self.text, at) if len(self.scopes) > 1 else None
        if found is None:
            return 0
        loc = found[1]
        self.toks, self.i = ["}", ""] if loc is None else ["}", "loc", "(", loc, ")", ""], 0
        self._close()
        return found.end()

    def _alias(self, at: int) -> int:
        """Read the definition of a location of the two common forms; gives the place behind it, 0 if it is no such."""
        found = _ALIAS.match(self.text, at) if len(self.scopes) == 1 else None
        if found is None:
            return 0
        name, file, line, column, source, scope = found.groups()
        made: Loc
        if file is not None:
            made = FileLineCol(file, int(line), int(column))
        else:
            inner, outer = self.aliases.get(source), self.aliases.get(scope)
            if not isinstance(inner, FileLineCol) or not isinstance(outer, (DISubprogram, DILexicalBlock)):
                return 0
            made = DILoc(inner, outer)
        if name in self.aliases:
            return 0
        self.set_alias(name, made)
        return found.end()

    def _item(self, at: int) -> int:
        """Read what stands at a place piece by piece; gives the place behind it, -1 at the end of the text."""
        lines = 1
        while True:
            end, count = self._window(at, lines)
            first, depth = self.toks[0][:1], len(self.scopes)
            if count == 0 and depth == 1 and end == len(self.text):
                return -1
            try:
                self._read(first, depth)
            except IndexError:
                # Nothing has happened yet if a single operation was not read to its end.
                if first == "}" or depth != len(self.scopes) or lines >= _LINES:
                    raise GiveUp from None
                lines *= 4
                continue
            if self.i == count:
                return end
            behind = self._behind(at)
            # The rest of the line is cut into tokens again: a long line of many operations must not take for ever.
            self.spare -= end - behind
            if self.spare < 0:
                raise GiveUp
            return behind

    def _behind(self, at: int) -> int:
        """Where the next token starts, if the first stands behind `at`."""
        for _ in range(self.i):
            found = TOKEN.match(self.text, at)
            assert found is not None
            at = found.end()
        return at

    def _read(self, first: str, depth: int) -> None:
        if first == "}" and depth > 1:
            self._close()
        elif first == "^" and depth > 1:
            self._label()
        elif first == "#" and depth == 1:
            self.define_alias()
        elif first == "!" and depth == 1:
            self._type_alias()
        elif first == "":
            raise GiveUp
        else:
            self._operation()

    def _window(self, at: int, lines: int) -> tuple[int, int]:
        """Take the tokens of some lines, and a few more, which may tell that an operation goes on.

        Gives where the lines end, and how many tokens they have.
        """
        text = self.text
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
        self.toks, self.i = toks, 0
        return end, count


def _tokens_of(lines: str) -> list[str]:
    """The tokens of whole lines, without the empty one at the end."""
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


class _Types(dict[str, Type]):
    """Types by their texts; the piecewise parser reads a new one."""

    def __init__(self, parser: QuickParser) -> None:
        super().__init__(parser.seen)
        self.parser = parser

    def __missing__(self, text: str) -> Type:
        p = self.parser
        p.toks, p.i = tokens(text), 0
        try:
            made = p.type()
        except (GiveUp, IndexError, TileError):
            raise KeyError(text) from None
        if p.i < len(p.toks) - 1:
            raise KeyError(text)
        return made


class _Forms(dict[str, QuickForm | None]):
    """The functions of ops by name."""

    def __init__(self, parser: QuickParser) -> None:
        super().__init__()
        self.parser = parser

    def __missing__(self, word: str) -> QuickForm | None:
        opdef = BY_NAME.get(word)
        if opdef is None or (opdef.testing and not self.parser.testing):
            form = None
        elif is_bound(opdef):
            form = self.form_of(opdef)
        else:
            form = self._later(word, opdef)
        self[word] = form
        return form

    def form_of(self, opdef: OpDef) -> QuickForm | None:
        bind = bind_of(opdef)
        return None if bind is None else bind(self.parser)

    def _later(self, word: str, opdef: OpDef) -> QuickForm:
        """To compile the regular expression of an op takes as long as to read a few of them piece by piece."""
        left = _PATIENCE

        def wait(*_: object) -> int:
            nonlocal left
            left -= 1
            if left == 0:
                self[word] = self.form_of(opdef)
            return 0

        return wait


def quick_parse(text: str, testing: bool) -> Block | None:
    """The operations outside of all others, None where the piecewise parser must read the text."""
    try:
        return QuickParser(text, testing).run()
    except GiveUp:
        return None

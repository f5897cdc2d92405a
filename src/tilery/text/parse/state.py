"""The state of a parser, and of the operation it is reading. Errors use MLIR's wording and MLIR's positions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NoReturn

from ...attrs import Attr
from ...declare.codegen import GiveUp
from ...declare.fastclass import dataclass, field
from ...declare.operation import BY_NAME, OpDef
from ...declare.relations import TERMINATOR
from ...diag import ErrorKind, Note, NoteKind, TileError
from ...ir import Block, Op, UnknownOp, Value
from ...types import SCALARS, TOKEN, Foreign, Type
from ..format import Piece
from ..lexer import PIECE, TokenPlaces, integer_value, is_integer, is_word, lexical_problem, pieces, spans, string_value

Mark = tuple[int, int]
"""A token: its index, and for a type that is one token the index of the piece inside it, else -1."""

Operand = tuple[str, int]
"""The name of a value, `%a` or `%a#1`, and the index of its token."""


@dataclass(slots=True)
class ParsedArgument:
    """An argument of a region: its name if it has one, its type, and the attributes that follow it."""

    use: Operand | None
    type: Type
    attrs: dict[str, Attr] = field(default_factory=dict)


@dataclass(slots=True)
class OpenRegion:
    """A request for the next region of an operation. The answer is its block, or None if it is empty."""

    args: list[ParsedArgument] = field(default_factory=list)
    number: int = 0


Body = Generator[OpenRegion, Block | None, Op]
"""The parsing of an operation with regions; it yields a OpenRegion for each."""


@dataclass(slots=True)
class Syntax:
    """The custom syntax of an operation: its name, and a function that reads the text after the name.

    The function gets the index of the token that is the name.
    """

    mnemonic: str
    parse: Callable[[Parser, int], Op | Body]


@dataclass(slots=True)
class Extensions:
    """Syntax accepted in addition to NVIDIA's."""

    forms: Mapping[str, Syntax] = field(default_factory=dict)
    """operations by name; they take precedence over the real ones"""
    prepare: Callable[[str], str] | None = None
    """changes characters of the text before there are tokens; their number must not change"""
    respell: Callable[[list[str]], None] | None = None
    """replaces tokens before parsing; their number must not change"""
    attribute: Callable[[Parser], Attr | None] | None = None
    """reads the attribute at the next token, or returns None if it is not an extension"""
    entry_labels: bool = False
    """whether a label without arguments may follow the arguments of a region"""
    types: Mapping[str, Type] = field(default_factory=dict)
    """types that are one token, by their text"""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The inputs that a parser accepts. `file` is the name of the text in messages."""

    file: str = ""
    allow_unregistered: bool = False
    testing: bool = False
    extensions: Extensions = field(default_factory=Extensions)


POISON = Foreign("<<unknown>>")
"""The type of a value whose definition could not be read: each use takes the type it expects."""


class RegionState:
    """A region that is being parsed."""

    __slots__ = ("at", "block", "body", "labels", "names", "number", "op", "opened", "results", "start")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.names: list[str] = []
        self.labels: dict[str, int] = {}
        self.number = 0
        self.op = ""
        self.body: Body | None = None
        self.results: list[tuple[str, int, int]] = []
        self.start = self.at = self.opened = 0


class Parser:
    """Everything known while a text is parsed: tokens and position, options, names, aliases and open regions."""

    def __init__(self, text: str, toks: list[str], forms: Mapping[str, Syntax], options: ParseOptions) -> None:
        self.text = text
        self.options = options
        self.forms = forms
        """the custom syntax of operations, by name with and without the dialect's prefix"""
        self._init_cursor(toks)
        self._init_tables()

    def _init_cursor(self, toks: list[str]) -> None:
        self.toks = toks
        self.i = 0
        """the index of the next token"""
        self.has_positions = True
        """whether the tokens are those of the whole text; otherwise asking for a position raises GiveUp"""
        self.op = ""
        """the operation whose own syntax is being parsed; messages name it"""
        self.in_dialect = False
        """inside `!cuda_tile.…` or `#cuda_tile.…`, where messages do not name the operation"""
        self._outer: tuple[list[str], int, str, dict[int, int]] | None = None
        self._shift: dict[int, int] = {}
        self._places = TokenPlaces(self.text)

    def _init_tables(self) -> None:
        self.types: dict[str, Type] = {**SCALARS, "token": TOKEN, **self.options.extensions.types}
        """types that are one token, by their text"""
        self.type_aliases: dict[str, Type] = {}
        self.aliases: dict[str, Attr] = {}
        self.alias_costs: dict[str, tuple[int, int]] = {}
        """the height and the size of each alias"""
        self.depth = self.height = self.size = 0
        """of the attribute being read: how deep the position is, how deep it has been, how many attributes so far"""
        self.fused = 0
        """the number of locations in all fused locations"""
        self.kept = 0
        """the number of characters in types that are kept as text"""
        self.values: dict[str, Value] = {}
        self.where: dict[str, int] = {}
        """for each name, the token that defined or first used it"""
        self.forward: dict[Value, tuple[str, int]] = {}
        """values that are used and not yet defined"""
        self.scopes = [RegionState(Block())]
        self.later: list[tuple[Op | None, str, int]] = []
        """locations that name an alias not yet defined: the operation, the alias, and its token"""
        self.op_tokens: dict[Op, int] = {}
        """for each operation, the token that is its name"""

    # ------------------------------------------------------------ tokens

    @property
    def tok(self) -> str:
        """The next token."""
        return self.toks[self.i]

    def is_word(self) -> bool:
        """Return whether the next token is a keyword or an identifier."""
        return is_word(self.toks[self.i])

    def accept(self, token: str) -> bool:
        """Skip the token if it is next; return whether it was."""
        if self.toks[self.i] == token:
            self.i += 1
            return True
        return False

    def expect(self, token: str, context: str = "") -> None:
        """Skip a punctuation mark, which must be next."""
        if self.toks[self.i] != token:
            self.wrong(f"expected '{token}'{context}")
        self.i += 1

    def keyword(self, word: str) -> None:
        """Skip a keyword, which must be next."""
        if self.toks[self.i] != word:
            self.fail(f"expected '{word}'")
        self.i += 1

    def any_keyword(self) -> str:
        """Read a keyword, which must be next."""
        if not is_word(token := self.toks[self.i]):
            self.fail("expected valid keyword")
        self.i += 1
        return token

    def optional_keyword(self) -> str | None:
        """Read a keyword if one is next."""
        if not is_word(token := self.toks[self.i]):
            return None
        self.i += 1
        return token

    def string(self) -> str | None:
        """Read a string if one is next; return its value."""
        token = self.toks[self.i]
        if token[:1] != '"':
            return None
        self.i += 1
        return string_value(token)

    def integer(self, bits: int = 64, signed: bool = True) -> int:
        """Read an integer, which must be next and in range."""
        value = self.optional_integer(bits, signed)
        if value is None:
            self.fail("expected integer value")
        return value

    def optional_integer(self, bits: int = 64, signed: bool = True) -> int | None:
        """Read an integer if one is next; `true` and `false` are 1 and 0."""
        token = self.toks[self.i]
        if token in ("true", "false"):
            self.i += 1
            return int(token == "true")
        at = self.mark()
        negative = self.accept("-")
        token = self.toks[self.i]
        if not is_integer(token):
            if negative:
                self.wrong("expected integer value")
            return None
        self.i += 1
        value = -integer_value(token) if negative else integer_value(token)
        low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        if not low <= value < high:
            self.fail("integer value too large", at)
        return value

    def listed(self, close: str, element: Callable[[], Any], context: str = "") -> list[Any]:
        """Read comma-separated elements, possibly none, up to a closing token. The opening one has been read."""
        out: list[Any] = []
        if self.accept(close):
            return out
        while True:
            out.append(element())
            if not self.accept(","):
                self.expect(close, context)
                return out

    # ------------------------------------------------------------ types that are one token

    def enter(self) -> None:
        """Continue with the pieces of the next token."""
        token = self.toks[self.i]
        self._outer = (self.toks, self.i, token, self._shift)
        self.toks, self.i, self._shift = pieces(token), 0, {}

    def leave(self) -> None:
        """Continue after the token that was entered."""
        assert self._outer is not None
        self.toks, index, _, self._shift = self._outer
        self.i, self._outer = index + 1, None

    def cut(self, count: int) -> None:
        """Drop the first characters of the next token: `x8xf32` after a 4 is an x, an 8 and `xf32`."""
        rest = self.toks[self.i][count:]
        if rest:
            self.toks[self.i] = rest
            self._shift[self.i] = self._shift.get(self.i, 0) + count
        else:
            self.i += 1

    # ------------------------------------------------------------ positions and errors

    def between(self, first: int, last: int) -> str:
        """Return the text from one token to another, by their indices."""
        return self.text[self.span((first, -1))[0] : self.span((last, -1))[1]]

    def mark(self) -> Mark:
        """Return the next token, for a message about it later."""
        return (self.i, -1) if self._outer is None else (self._outer[1], self.i)

    def span(self, mark: Mark | None = None) -> tuple[int, int]:
        """Return where the next token, or the marked one, starts and ends in the text."""
        if not self.has_positions:
            raise GiveUp
        outer, inner = self.mark() if mark is None else mark
        start, end = self.token_span(outer)
        if inner >= 0:
            left, right = spans(self.text[start:end], PIECE)[inner]
            start, end = start + left, start + right
        if mark is None:
            start += self._shift.get(self.i, 0)
        return start, end

    def token_span(self, index: int) -> tuple[int, int]:
        """Return the start and end of a token, or the end of the text if there are fewer."""
        return self._places.span(index) or (len(self.text), len(self.text))

    def error(self, message: str, start: int, end: int, notes: Sequence[str] = ()) -> TileError:
        """Make the error to raise. A token that the lexer refuses takes precedence."""
        if self.toks[self.i] == "" and self._outer is None:
            at = self.span()[0]
            if (problem := lexical_problem(self.text, at)) is not None:
                start, message = problem
                end, notes = start + 1, ()
        kind, file = ErrorKind.SYNTAX, self.options.file
        return TileError(message, kind=kind, file=file, source=self.text, start=start, end=end, notes=tuple(notes))

    def wrong(self, message: str, *notes: str) -> NoReturn:
        """Raise an error about the next token; like MLIR's, it is at the end of the text before the token."""
        start, end = self.span()
        at = min(start, max(len(self.text) - 1, 0))
        moved = _text_end_before(self.text, at)
        if moved is not None:
            at, end = moved, moved
        raise self.error(message, at, end, notes)

    def plain(self, message: str, mark: Mark | None = None, *notes: str) -> NoReturn:
        """Raise an error at a token; it does not name the operation."""
        start, end = self.span(mark)
        if start == len(self.text) > 0:
            start -= 1
        raise self.error(message, start, end, notes)

    def fail(self, message: str, mark: Mark | None = None, *notes: str) -> NoReturn:
        """Raise an error at a token; it names the operation if one is being parsed."""
        if self.op and not self.in_dialect:
            message = f"custom op '{self.op}' {message}"
        start, end = self.span(mark)
        raise self.error(message, start, end, notes)

    def second(self, message: str, mark: Mark | None = None) -> Note:
        """Make a note for a second error that NVIDIA's tools report at the same time."""
        if self.op and not self.in_dialect:
            message = f"custom op '{self.op}' {message}"
        return Note(message, self.span(mark)[0], NoteKind.ERROR)


def _text_end_before(text: str, at: int) -> int | None:
    """Return the end of the last text before `at` that is neither blank nor a comment, or None at the start."""
    while True:
        stop = at
        while stop and text[stop - 1] in " \t":
            stop -= 1
        if stop == 0:
            return None
        if text[stop - 1] not in "\n\r":
            return stop
        at = stop - 1
        begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        comment = text.find("//", begin, at)
        if comment >= 0:
            at = comment


class OperationState:
    """The parts of one operation that have been read, by the names of its fields."""

    __slots__ = ("_build", "attrs", "opdef", "pieces", "type_marks", "types", "uses", "values")

    def __init__(self, opdef: OpDef, build: Build, pieces: tuple[Piece, ...] = ()) -> None:
        self.opdef = opdef
        self.pieces = pieces
        self.uses: dict[str, list[Operand]] = {}
        self.types: dict[str, list[Type]] = {}
        self.values: dict[str, Any] = {}
        self.attrs: dict[str, Attr] = {}
        self.type_marks: dict[str, Mark] = {}
        self._build = build

    def build(self, p: Parser, at: int) -> Op:
        """Make the operation; `at` is the token of its name."""
        return self._build(p, self, at)

    def terminated(self, p: Parser, block: Block | None, at: int) -> Block:
        """Return the block; append the implicit terminator if it is missing. Errors locate that at token `at`."""
        block = Block() if block is None else block
        last = block.ops[-1] if block.ops else None
        if last is None or isinstance(last, UnknownOp) or not last.opdef.has(TERMINATOR):
            block.ops.append(BY_NAME[self.opdef.implicit].cls())
            p.op_tokens[block.ops[-1]] = at
        return block


Build = Callable[[Parser, OperationState, int], Op]
"""Makes the operation from what was read; the number is the token of its name."""

PieceParser = Callable[[Parser, OperationState], None]
"""Reads one piece of a format into the state of an operation."""

"""Parse a chunk past its errors. The piecewise parser reads it; where a statement fails, parsing continues after it.

The results of a statement that failed are poison: they have every type that a use expects. A region whose head failed
is read anyway. Where braces do not balance, the columns of lines decide which one is missing or too many.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import cache
from typing import Any

from ...attrs import Attr
from ...declare.fastclass import dataclass, field
from ...declare.operation import BY_NAME, OpDef
from ...diag import ErrorKind, TileError
from ...ir import Block, Op, UnknownOp, Value
from ...ops import registered
from ...types import Type
from .. import DIALECT
from ..lexer import is_word
from ..parse.forms import builder, form_of
from ..parse.operations import parse_item, undeclared
from ..parse.state import POISON, Body, Build, OpenRegion, OperationState, ParseOptions, Parser, RegionState, Syntax
from .tokens import Tokens

MAX_ERRORS = 100
"""The most errors of one chunk; parsing stops there."""
STEP = 500
"""The number of statements that are read in one step."""
BROKEN, CLOSED = "<<broken>>", "<<closed>>"
"""The names of operations that stand for one whose head could not be read, and for the end of an enclosing module."""


UNEXPECTED_BRACE, OPEN_REGION = "unexpected-brace", "open-region"
"""The rules that a brace without a region, and a region without a brace, break."""


@dataclass(slots=True)
class ChunkContext:
    """The definitions of the text before a chunk: aliases, and the names of the modules that are open."""

    aliases: dict[str, Attr] = field(default_factory=dict)
    alias_costs: dict[str, tuple[int, int]] = field(default_factory=dict)
    type_aliases: dict[str, Type] = field(default_factory=dict)
    modules: tuple[str, ...] = ()


@dataclass(eq=False)
class ParsedChunk:
    """The reading of a chunk. All places are relative to its start."""

    text: str
    kind: str
    tokens: Tokens
    blocks: list[Block]
    """the operations outside of functions, by the number of modules around them"""
    errors: list[TileError]
    extents: dict[Op, tuple[int, int]]
    """for each operation the token that is its name, and the token after its last"""
    states: dict[int, OperationState]
    """what was read of each operation, by the token that is its name"""
    later: list[tuple[Op | None, str, int]]
    """locations that name an alias which is not defined before the chunk"""
    given: ChunkContext
    """what the text before defines"""
    context: ChunkContext
    """the same for the text after"""
    closed: list[Op]
    """for each module that ends in this chunk an operation with its location, innermost first"""
    opened: RegionState | None
    """the module that starts in this chunk"""
    wrappers: tuple[str, ...]
    starts: list[int]
    """the tokens that start operations, aliases, labels, or end regions"""
    regions: dict[int, int]
    """the braces of regions; -1 for the second if there is none"""
    types: dict[str, Type]
    """types that are one token, by their text"""
    ends: bool
    """whether modules may end in the chunk"""
    defined: dict[int, list[Value]]
    """the values that the token of a name defines"""
    loose: list[Block]
    """the regions that are in no operation: they do not end, or the head of a function is wrong"""


class _Extents(dict[Op, int]):
    """The names of operations, as the parser stores them, and in addition where operations end."""

    def __init__(self, p: Parser) -> None:
        super().__init__()
        self.p = p
        self.ends: dict[Op, int] = {}

    def __setitem__(self, o: Op, at: int) -> None:
        super().__setitem__(o, at)
        self.ends[o] = self.p.i


class _Places(dict[str, int]):
    """The tokens of names, as the parser stores them, and in addition the value that each definition makes."""

    def __init__(self, p: Parser) -> None:
        super().__init__()
        self.p = p
        self.defined: dict[int, list[Value]] = {}

    def __setitem__(self, name: str, index: int) -> None:
        super().__setitem__(name, index)
        value = self.p.values[name]
        if value.owner is not None:  # otherwise it is the use of a value that is not defined yet
            self.defined.setdefault(index, []).append(value)


class RecordingParser(Parser):
    """A parser that keeps what it reads of each operation."""

    def __init__(self, tokens: Tokens, options: ParseOptions) -> None:
        forms, spelled, more = recording_forms(options.testing), list(tokens.spelled), options.extensions
        if more.respell is not None:
            more.respell(spelled)
        super().__init__(tokens.text, spelled, {**forms, **more.forms} if more.forms else forms, options)
        self.tokens = tokens
        self.states: dict[int, OperationState] = {}
        self.extents = self.op_tokens = _Extents(self)
        self.places = self.where = _Places(self)

    def token_span(self, index: int) -> tuple[int, int]:
        return self.tokens.span(index) if index < len(self.tokens.spelled) else (len(self.text), len(self.text))

    def surface(self) -> None:
        """Leave a type that is one token, and everything else that an error interrupts."""
        if self._outer is not None:
            self.leave()
            self.i -= 1
        self.in_dialect = False
        self.op = ""


@cache
def recording_forms(testing: bool) -> dict[str, Syntax]:
    """Return the custom syntax of operations by name, like `parser.forms`; what is read of each is kept."""
    out: dict[str, Syntax] = {}
    allowed = {id(d) for d in registered(testing=testing)}
    for name, opdef in BY_NAME.items():
        if id(opdef) in allowed:
            out[DIALECT + name] = out[name] = Syntax(name, form_of(opdef, _keeping(opdef)))
    out.pop("module")
    return out


def _keeping(opdef: OpDef) -> Build:
    build = builder(opdef)

    def keep(p: Parser, s: OperationState, at: int) -> Op:
        assert isinstance(p, RecordingParser)
        p.states[at] = s
        return build(p, s, at)

    return keep


Steps = Generator[None, None, ParsedChunk]
"""The reading of a chunk in steps of some milliseconds; it can be given up between them."""


def chunk_steps(text: str, kind: str, context: ChunkContext, options: ParseOptions, ends: bool = True) -> Steps:
    """Read a chunk as far as possible. Never raises TileError: every error is in the result.

    `ends` tells whether the modules around it may end in it.
    """
    return _Reader(text, kind, context, options, ends).steps()


class _Reader:
    """Reads one chunk."""

    def __init__(self, text: str, kind: str, context: ChunkContext, options: ParseOptions, ends: bool) -> None:
        self.kind, self.given, self.ends = kind, context, ends
        self.tokens = Tokens(text)
        self.toks = [*self.tokens.spelled, "", "", ""]
        """the tokens, and some more ends, so that a look ahead stays inside"""
        self.p = p = RecordingParser(self.tokens, options)
        self.last = len(p.toks) - 1
        self.errors: list[TileError] = []
        self.lost: set[str] = set()
        """names that are defined in text that was skipped"""
        p.aliases, p.alias_costs = dict(context.aliases), dict(context.alias_costs)
        p.type_aliases = dict(context.type_aliases)
        self.wrappers = context.modules
        self.blocks = [p.scopes[0].block]
        for name in context.modules:
            scope = RegionState(Block())
            scope.op, scope.body = name, _module_body()
            next(scope.body)
            p.scopes.append(scope)
            self.blocks.append(scope.block)
        self.base = len(p.scopes)
        """the number of scopes around the items of the chunk; it falls where a module ends"""
        self.surplus = 0
        self.starts: list[int] = []
        self.regions: dict[int, int] = {}
        self.loose: list[Block] = []

    def steps(self) -> Steps:
        p = self.p
        spelled = self.toks
        # More closing braces than are open may end modules; the others are too many.
        more = spelled.count("}") - spelled.count("{")
        self.surplus = min(more, 0) + max(more - len(self.wrappers) * self.ends, 0)
        while p.i < self.last and len(self.errors) < MAX_ERRORS:
            start, scope, depth = p.i, p.scopes[-1], len(p.scopes)
            self.starts.append(start)
            if len(self.starts) % STEP == 0:
                yield
            if spelled[start] == "}" and depth > self.base:
                self.regions[scope.opened] = start
            try:
                if spelled[start] == "}" and self._brace(start):
                    continue
                parse_item(p)
            except TileError as error:
                self._keep(error)
                self._recover(start, scope, depth)
            self.base = min(self.base, len(p.scopes))
            if p.scopes[-1] is not scope and len(p.scopes) >= depth:
                self.regions.setdefault(p.scopes[-1].opened, -1)
        opened = self._finish()
        context = self._context(opened)
        closed = [o for block in reversed(self.blocks) for o in block.ops if o.name == CLOSED]
        for block in self.blocks:
            self.loose += [inner for o in block.ops if o.name == BROKEN for inner in o.blocks]
            block.ops = [o for o in block.ops if o.name not in (CLOSED, BROKEN)]
        extents = {o: (at, p.extents.ends[o]) for o, at in p.extents.items()}
        return ParsedChunk(
            self.tokens.text, self.kind, self.tokens, self.blocks, self.errors, extents, p.states, p.later,
            self.given, context, closed, opened, self.wrappers,
            self.starts, self.regions, p.types, self.ends, p.places.defined, self.loose,
        )  # fmt: skip

    def _context(self, opened: RegionState | None) -> ChunkContext:
        p, given = self.p, self.given
        modules = self.wrappers[: self.base - 1]
        if opened is not None:
            modules = (*modules, opened.op)
        if len(p.aliases) == len(given.aliases) and len(p.type_aliases) == len(given.type_aliases):
            return ChunkContext(given.aliases, given.alias_costs, given.type_aliases, modules)
        return ChunkContext(p.aliases, p.alias_costs, p.type_aliases, modules)

    def _keep(self, error: TileError) -> None:
        last = self.errors[-1] if self.errors else None
        if last is None or (last.start, last.message) != (error.start, error.message):
            self.errors.append(error)

    # ------------------------------------------------------------ the end of a chunk

    def _finish(self) -> RegionState | None:
        """Report regions that are still open and names that nothing defines. Return the module that was opened."""
        p = self.p
        p.surface()
        opened = None
        if self.kind == "module" and len(p.scopes) == self.base + 1:
            opened = p.scopes.pop()
        while len(p.scopes) > self.base:
            self._unclosed(p.scopes.pop())
        if len(self.errors) < MAX_ERRORS:
            places = sorted(index for _, index in p.forward.values())
            names = {index: name for name, index in p.forward.values()}
            for index in places[: MAX_ERRORS - len(self.errors)]:
                if names[index].partition("#")[0] not in self.lost:
                    self._error("use of undeclared SSA value name", index, *undeclared(p, index))
        self.errors.sort(key=lambda error: error.start)
        return opened

    def _error(self, message: str, index: int, *notes: str, rule: str = "") -> None:
        start, end = self.tokens.span(index)
        p = self.p
        self._keep(
            TileError(
                message,
                kind=ErrorKind.SYNTAX,
                rule=rule,
                file=p.options.file,
                source=p.text,
                start=start,
                end=end,
                notes=notes,
            )
        )

    def _unclosed(self, scope: RegionState) -> None:
        """Report a region without an end, at the brace that opens it."""
        self._error("expected '}' to end this region", scope.opened, rule=OPEN_REGION)
        self.loose.append(scope.block)
        if scope.body is not None:
            scope.body.close()

    # ------------------------------------------------------------ braces

    def _brace(self, at: int) -> bool:
        """Decide by its column whether a closing brace is one too many, or ends several regions. Return if it was."""
        p, tokens = self.p, self.tokens
        if self.surplus == 0 or not tokens.line_start(at) or len(p.scopes) == 1:
            return self._stray(at)
        column, own = tokens.column(at), self._opening_column(p.scopes[-1])
        if self.surplus > 0 and (len(p.scopes) <= self.base or column > own):
            self._error("unexpected '}': no region starts here", at, rule=UNEXPECTED_BRACE)
            self.surplus -= 1
            p.i += 1
            return True
        if self.surplus < 0 and column < own and len(p.scopes) > self.base:
            self._unclosed(p.scopes[-1])
            self.surplus += 1
            scope = p.scopes.pop()
            for name in scope.names:
                p.values.pop(name, None)
            self._poison(scope.results)
            return True
        return False

    def _stray(self, at: int) -> bool:
        """Report a closing brace where nothing is open."""
        if len(self.p.scopes) > 1:
            return False
        self._error("unexpected '}': no region starts here", at, rule=UNEXPECTED_BRACE)
        self.p.i += 1
        return True

    def _opening_column(self, scope: RegionState) -> int:
        """Return the column of the line in which a region starts."""
        index = scope.opened
        while index > 0 and not self.tokens.line_start(index):
            index -= 1
        return self.tokens.column(index)

    # ------------------------------------------------------------ recovery

    def _recover(self, start: int, scope: RegionState, depth: int) -> None:
        """Continue after the statement that starts at a token, and whose error was kept."""
        p = self.p
        p.surface()
        if len(p.scopes) > depth:  # the region has started, but one of its arguments is wrong
            self._poison_names(start, p.i)
            return
        if len(p.scopes) < depth:  # the region has ended, but something is wrong with its operation
            self._poison(scope.results)
        else:
            self._poison(self._results(start))
        end, opens = self._end_of_statement(start)
        if opens or self._body_without_brace(start, end):
            self._open(start, end, opens)
        else:
            self._lose(start, end)
            p.i = end

    def _results(self, start: int) -> list[tuple[str, int, int]]:
        """Return the names before the `=` of a statement."""
        toks, found, i = self.toks, [], start
        while toks[i][:1] == "%":
            found.append((toks[i], 1, i))
            i += 1
            if toks[i] == ":" and toks[i + 1].isdecimal():
                i += 2
            if toks[i] != ",":
                break
            i += 1
        return found if toks[i] == "=" else []

    def _poison(self, results: list[tuple[str, int, int]]) -> None:
        for name, _, index in results:
            self._poison_name(name, index)

    def _poison_name(self, name: str, index: int) -> None:
        p = self.p
        known = p.values.get(name)
        if known is not None and known not in p.forward:
            return
        if known is not None:
            del p.forward[known]
        for use in [v for v, (key, _) in p.forward.items() if key.startswith(name + "#")]:
            del p.forward[use]
        value = p.values[name] = Value(POISON)
        p.where[name] = index
        p.places.defined[index] = [value]
        p.scopes[-1].names.append(name)

    def _poison_names(self, start: int, end: int) -> None:
        """Define every name in the head of a region that has no definition yet: it may be an argument."""
        for index in range(start, end):
            name = self.toks[index]
            if name[:1] == "%":
                self._poison_name(name, index)

    def _lose(self, start: int, end: int) -> None:
        """Remember the names that skipped text defines."""
        toks = self.toks
        for index in range(start, end):
            if toks[index][:1] == "%" and toks[index + 1] in ("=", ",", ":"):
                self.lost.add(toks[index])

    def _end_of_statement(self, start: int) -> tuple[int, bool]:
        """Return the token after a statement, or the one after its first opening brace and True."""
        toks, tokens = self.toks, self.tokens
        begin = start + 1
        column = tokens.column(start) if tokens.line_start(start) else -1
        nested = 0
        for index in range(start, self.last):
            token = toks[index]
            if index >= begin and tokens.line_start(index) and self._starts(index, column):
                return index, False
            if token == "{":
                if nested == 0 and self._opens_region(index):
                    return index + 1, True
                nested += 1
            elif token == "}" and index >= begin:
                if nested == 0:
                    return index, False
                nested -= 1
        return self.last, False

    def _starts(self, index: int, column: int) -> bool:
        """Return whether the first token of a line starts a statement, or ends a region."""
        toks = self.toks
        token = toks[index]
        if token == "}" or token in self.p.forms or (column >= 0 and self.tokens.column(index) == column):
            return True
        if token[:1] == "%":
            results = self._results(index)
            if not results:
                return False
            after = toks[results[-1][2] + 1 :][:4]
            word = after[after.index("=") + 1] if "=" in after[:3] else ""
            return is_word(word) or word[:1] == '"'
        return token[:1] == '"' and toks[index + 1] == "("

    def _opens_region(self, index: int) -> bool:
        """Return whether a brace opens a region, and not a dictionary: a line ends or a statement starts after it."""
        toks = self.toks
        following = toks[index + 1]
        if following == "}":
            return False
        if self.tokens.line_start(index + 1):
            return toks[index + 2] != "=" or following[:1] == "%"
        return following[:1] == "%" or following in self.p.forms

    def _body_without_brace(self, start: int, end: int) -> bool:
        """Return whether lines that are indented further follow the head of an operation with regions."""
        toks, tokens = self.toks, self.tokens
        results = self._results(start)
        at = results[-1][2] + 2 if results else start
        opdef = BY_NAME.get(toks[min(at, self.last)].removeprefix(DIALECT))
        if opdef is None or not opdef.regions or end >= self.last or "{" in toks[start:end]:
            return False
        return tokens.line_start(end) and tokens.column(end) > tokens.column(start)

    def _open(self, start: int, end: int, brace: bool) -> None:
        """Read the region of a statement that failed; its operation is left out."""
        p = self.p
        scope = RegionState(Block())
        scope.op, scope.opened = BROKEN, end - 1 if brace else start
        scope.body = self._broken_body(scope.block)
        next(scope.body)
        p.scopes.append(scope)
        self._poison_names(start, end)
        p.i = end

    def _broken_body(self, block: Block) -> Body:
        p, toks = self.p, self.toks
        blocks = [(yield OpenRegion()) or block]
        while toks[p.i] in ("else", ",") and toks[p.i + 1] == "{":  # a comma in the generic form
            p.i += 1
            blocks.append((yield OpenRegion()) or Block())
        while p.i < self.last and not self.tokens.line_start(p.i) and toks[p.i] != "}":
            p.i += 1
        return UnknownOp(BROKEN, regions=tuple(blocks))


def _module_body() -> Any:
    """Stand for the parsing of a module that an earlier chunk opened, up to its end."""
    yield OpenRegion()
    return UnknownOp(CLOSED)

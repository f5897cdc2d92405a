"""Text -> Module: operations, regions and the names of values, as MLIR reads them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from functools import cache, cached_property
from typing import NoReturn

from ...attrs import Attr
from ...declare.fastclass import dataclass
from ...declare.gcpause import paused
from ...declare.operation import BY_NAME, registered
from ...diag import Note, TileError
from ...ir import Block, Op, UnknownOp, Value, walk
from ...ops import Module
from ..lexer import is_word, symbol_name
from ..print.parts import DIALECT, PRODUCER
from ..spelling import explain
from .locs import UNKNOWN, as_loc, is_loc
from .names import NameCursor, Scope
from .state import Argument, Body

MAX_ERRORS = 100


class Parser(NameCursor):
    """All that is known while a text is parsed."""

    def __init__(
        self, text: str, file: str, allow_unregistered: bool, testing: bool, toks: list[str] | None = None
    ) -> None:
        super().__init__(text, file, allow_unregistered, toks)
        self.testing = testing
        self.forms = _forms(testing)
        self.later: list[tuple[Op | None, str, int]] = []
        self.places: dict[Op, int] = {}

    # ------------------------------------------------------------ the walk over operations

    def run(self) -> Block:
        """Parse everything; the operations outside of all others."""
        toks = self.toks
        while True:
            token = toks[self.i]
            first = token[:1]
            if first == "}" and len(self.scopes) > 1:
                self._close()
            elif first == "^" and len(self.scopes) > 1:
                self._label()
            elif first == "#" and len(self.scopes) == 1:
                self.define_alias()
            elif first == "!" and len(self.scopes) == 1:
                self._type_alias()
            elif first == "" and len(self.scopes) == 1 and self.i == len(toks) - 1:
                break
            else:
                self._operation()
        self._finalize()
        return self.scopes[0].block

    def _operation(self) -> None:
        start = self.i
        results = self._results() if self.toks[start][:1] == "%" else []
        at = self.i
        token = self.toks[at]
        make = self.forms.get(token)
        if make is None:
            made = self._other(token, at)
        else:
            self.i = at + 1
            self.op = DIALECT + make.mnemonic
            try:
                made = make.parse(self, at)
            except TileError as error:
                raise _with_example(error, make.mnemonic) from None
        if isinstance(made, Op):
            self._finish(made, results, start, at)
        else:
            scope = Scope(Block())
            scope.results, scope.start, scope.at, scope.body = results, start, at, made
            self._go_on(scope, None)

    def _other(self, token: str, at: int) -> Op | Body:
        from .generic import builtin_module, generic

        if token[:1] == '"' and len(token) > 1:
            return generic(self)
        if token in ("module", "builtin.module"):
            self.i += 1
            if token == "module" and self.scopes[-1].op.startswith(DIALECT):
                return self.forms[DIALECT + token].parse(self, at)
            return builtin_module(self, at)
        if not is_word(token):
            opened = self.scopes[-1].opened
            notes = [Note("this region is not closed", self.span((opened, -1))[0])] if token == "" and opened else []
            self.wrong("expected operation name in quotes", *notes)
        return self._unknown(token)

    def _unknown(self, token: str) -> NoReturn:
        known = sorted(self.forms)
        near = difflib.get_close_matches(token, known, 1)
        notes = [f"did you mean '{near[0]}'?"] if near else []
        dialect = token.partition(".")[0]
        if "." in token and dialect not in ("cuda_tile", "builtin"):
            note = "Registered dialects: builtin, cuda_tile ; for more info on dialect registration see "
            note += "https://mlir.llvm.org/getting_started/Faq/#registered-loaded-dependent-whats-up-with-dialects-management"
            self.plain(f"Dialect `{dialect}' not found for custom op '{token}' ", None, note)
        tried = "" if "." in token else f" (tried '{DIALECT}{token}' as well)"
        self.plain(f"custom op '{token}' is unknown{tried}", None, *notes)

    def _results(self) -> list[tuple[str, int, int]]:
        """`%a, %b:2 =`: names, how many values each stands for, and where."""
        out: list[tuple[str, int, int]] = []
        toks = self.toks
        while True:
            at = self.i
            name = toks[at]
            if name[:1] != "%":
                self.wrong("expected valid ssa identifier")
            self.i += 1
            count = 1
            if toks[self.i] == ":":
                self.i += 1
                if not toks[self.i][:1].isdecimal():
                    self.wrong("expected integer number of results")
                count = self.optional_integer(64, signed=False) or 0
                if count < 1:
                    self.i -= 1
                    self.plain("expected named operation to have at least 1 result")
            out.append((name, count, at))
            if toks[self.i] != ",":
                break
            self.i += 1
        self.expect("=", " after SSA name")
        return out

    def _finish(self, o: Op, results: list[tuple[str, int, int]], start: int, at: int) -> None:
        """Behind the operation: its location, and names for its results."""
        if self.toks[self.i] == "loc":
            self._trailing_loc(o)
        self.scopes[-1].block.ops.append(o)
        self.places[o] = at
        if not results:
            return
        values = o.results
        if len(results) == len(values) == 1 and results[0][1] == 1:
            name, _, index = results[0]
            if (known := self.define(name, 0, values[0], index)) is not values[0]:
                _replace_result(o, values[0], known)
            return
        self._bind(o, values, results, start)

    def _bind(self, o: Op, values: list[Value], results: list[tuple[str, int, int]], start: int) -> None:
        expected = sum(count for _, count, _ in results)
        if not values:
            self.plain("cannot name an operation with no results", (start, -1))
        if expected != len(values):
            self.plain(f"operation defines {len(values)} results but was provided {expected} to bind", (start, -1))
        rest = iter(values)
        for name, count, index in results:
            for number in range(count):
                value = next(rest)
                if (known := self.define(name, number, value, index)) is not value:
                    _replace_result(o, value, known)

    def _trailing_loc(self, o: Op | None) -> None:
        self.i += 1
        self.expect("(", " in location")
        at, token = self.i, self.toks[self.i]
        loc: Attr = UNKNOWN
        if token[:1] == "#" and "." not in token and token[1:] not in self.aliases:
            self.i += 1
            self.later.append((o, token[1:], at))
        else:
            loc = self.location()
        self.expect(")", " in location")
        if o is not None:
            o.loc = as_loc(loc)

    # ------------------------------------------------------------ regions

    def _go_on(self, scope: Scope, block: Block | None) -> None:
        """Give an operation its block, and open the next region it asks for or finish it."""
        assert scope.body is not None
        while True:
            try:
                region = scope.body.send(block)
            except StopIteration as done:
                self._finish(done.value, scope.results, scope.start, scope.at)
                return
            except TileError as error:
                raise _with_example(error, self.op.removeprefix(DIALECT)) from None
            if self.toks[self.i] != "{":
                self.wrong("expected '{' to begin a region")
            self.i += 1
            if region.args or self.toks[self.i] != "}":
                break
            self.i += 1
            block = None
        opened = Scope(Block())
        opened.results, opened.start, opened.at, opened.body = scope.results, scope.start, scope.at, scope.body
        opened.op, opened.number, opened.opened = self.op, region.number, self.i - 1
        self.scopes.append(opened)
        self._arguments(opened, region.args)

    def _arguments(self, scope: Scope, args: list[Argument]) -> None:
        if not args or args[0].use is None:
            return  # parameters without names get them from the label of the block
        if self.toks[self.i][:1] == "^":
            self.plain("invalid block name in region with named arguments")
        for a in args:
            assert a.use is not None
            name, index = a.use
            if name in self.values:
                note = Note("previously referenced here", self.span((self.where[name], -1))[0])
                self.plain(f"region entry argument '{name}' is already in use", (index, -1), note)
            value = Value(a.type, scope.block)
            scope.block.args.append(value)
            self.define(name, 0, value, index)

    def _label(self) -> None:
        """`^bb0(%a: type):`. A second block ends the parsing: no operation of Tile IR has several."""
        scope = self.scopes[-1]
        at, name = self.mark(), self.tok
        if name in scope.labels:
            self.plain(f"redefinition of block '{name}'", at)
        if scope.labels or scope.block.ops:
            self.plain(f"'{scope.op}' op expects region #{scope.number} to have 0 or 1 blocks", (scope.at, -1))
        scope.labels[name] = self.i
        self.i += 1
        if self.accept("(") and not self.accept(")"):
            self._label_arguments(scope)
        self.expect(":", " after block name")

    def _label_arguments(self, scope: Scope) -> None:
        while True:
            name, index = self.operand()
            self.expect(":", " and type for SSA operand")
            value = Value(self.type(), scope.block)
            self.skip_location()
            scope.block.args.append(self.define(name, 0, value, index))
            if not self.accept(","):
                self.expect(")")
                return

    def _close(self) -> None:
        scope = self.scopes.pop()
        for name in scope.names:
            self.values.pop(name, None)
        self.i += 1
        self.op = scope.op
        self._go_on(scope, scope.block)

    # ------------------------------------------------------------ small things

    def is_word(self) -> bool:
        return is_word(self.toks[self.i])

    def symbol_name(self) -> str:
        """`@name`, which must be next."""
        token = self.toks[self.i]
        if token[:1] != "@" or len(token) < 2:
            self.fail("expected valid '@'-identifier for symbol name")
        self.i += 1
        return symbol_name(token)

    def arguments(self) -> list[Argument]:
        """`(%a: type {attributes} loc(...), ...)`."""
        self.expect("(")
        out: list[Argument] = []
        if self.accept(")"):
            return out
        while True:
            at = self.mark()
            use = self.operand() if self.tok[:1] == "%" else None
            if use is not None:
                self.expect(":")
            if out and (use is None) != (out[-1].use is None):
                self.fail("expected SSA identifier" if use is None else "expected type instead of SSA identifier", at)
            type = self.type()
            attrs = self.dictionary() if self.tok == "{" else {}
            self.skip_location()
            out.append(Argument(use, type, attrs))
            if not self.accept(","):
                self.expect(")")
                return out

    def skip_location(self) -> None:
        """A location behind a name; Tile IR has no place to keep it."""
        if self.toks[self.i] == "loc":
            self._trailing_loc(None)

    def _type_alias(self) -> None:
        name = self.tok[1:]
        if name in self.type_aliases:
            self.plain(f"redefinition of type alias id '{name}'")
        if "." in name:
            self.plain("type names with a '.' are reserved for dialect-defined names")
        self.i += 1
        self.expect("=", " in type alias definition")
        self.type_aliases[name] = self.type()

    def _finalize(self) -> None:
        """What only the end of the text can tell: names that nothing defined."""
        if self.forward:
            marks = sorted(index for _, index in self.forward.values())
            message = "use of undeclared SSA value name"
            notes = [Note(message, self.span((index, -1))[0], "error") for index in marks[1:MAX_ERRORS]]
            self.plain(message, (marks[0], -1), *notes)
        for o, name, index in self.later:
            attr = self.aliases.get(name)
            if attr is None:
                self.plain("operation location alias was never defined", (index, -1))
            if not is_loc(attr):
                self.plain("expected location", (index, -1))
            if o is not None:
                o.loc = as_loc(attr)


def _replace_result(o: Op, old: Value, new: Value) -> None:
    if isinstance(o, UnknownOp):
        o.outs = tuple(new if v is old else v for v in o.outs)
        return
    for f in o.opdef.outs:
        value = getattr(o, f.attr)
        if value is old:
            setattr(o, f.attr, new)
        elif isinstance(value, tuple):
            setattr(o, f.attr, tuple(new if v is old else v for v in value))


def _with_example(error: TileError, mnemonic: str) -> TileError:
    """An error about what is expected, with a line that shows how the operation is written."""
    opdef = BY_NAME.get(mnemonic)
    explain(error)
    if opdef is not None and "expected" in error.message:
        shown = re.compile(rf"(?<![\w$]){re.escape(opdef.mnemonic)}(?![\w$])")
        error.notes += [f"for example: {line.strip()}" for line in opdef.example.splitlines() if shown.search(line)][:1]
    return error


# ---------------------------------------------------------------- operations in their own syntax


@dataclass(slots=True)
class Syntax:
    """An operation's own syntax: its name, and a function that reads what stands behind it."""

    mnemonic: str
    parse: Callable[[Parser, int], Op | Body]


@cache
def _forms(testing: bool) -> dict[str, Syntax]:
    """The parsers of all operations by name, with and without the dialect's."""
    from .forms import form_of

    allowed = {id(d) for d in registered(testing=testing)}
    out: dict[str, Syntax] = {}
    for name, opdef in BY_NAME.items():
        if id(opdef) in allowed:
            form = Syntax(name, form_of(opdef))
            out[DIALECT + name] = form
            out[name] = form
    out.pop("module")
    return out


# ---------------------------------------------------------------- the whole text


@dataclass()
class Parsed:
    """A module and where its operations stand in the text."""

    module: Module
    wrapped: bool
    """whether the text has a `cuda_tile.module`, or its items stand on their own"""
    source: str
    file: str
    allow_unregistered: bool
    testing: bool

    @cached_property
    def places(self) -> dict[Op, tuple[int, int]]:
        """Where the name of each operation starts and ends. Nobody keeps that: the text is read again."""
        with paused:
            parser = Parser(self.source, self.file, self.allow_unregistered, self.testing)
            again = _module(parser.run(), self.source)[0]
        return {
            o: parser.span((parser.places[twin], -1))
            for o, twin in zip(walk(self.module), walk(again))
            if twin in parser.places
        }

    def error(self, o: Op, message: str, *notes: str) -> TileError:
        """An error about an operation of the text."""
        start, end = self.places.get(o, (0, 0))
        return TileError(message, file=self.file, source=self.source, start=start, end=end, notes=notes)


def parse(
    text: str, *, file: str = "", allow_unregistered: bool = False, testing: bool = False, quick: bool = True
) -> Module:
    """The module that a text describes. `quick=False` reads it piece by piece even where there is a fast path.

    >>> parse("entry @k() {}").entries[0].sym_name
    'k'
    """
    return _module(_run(text, file, allow_unregistered, testing, quick), text)[0]


def parse_with_places(text: str, *, file: str = "", allow_unregistered: bool = False, testing: bool = False) -> Parsed:
    """Like `parse`, with the place of every operation, for messages about them."""
    module, wrapped = _module(_run(text, file, allow_unregistered, testing, True), text)
    return Parsed(module, wrapped, text, file, allow_unregistered, testing)


def _run(text: str, file: str, allow_unregistered: bool, testing: bool, quick: bool) -> Block:
    from .quick import quick_parse

    _check_unicode(text, file)
    with paused:
        block = quick_parse(text, testing) if quick and not allow_unregistered else None
        return Parser(text, file, allow_unregistered, testing).run() if block is None else block


def _check_unicode(text: str, file: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        message = "the text is not valid Unicode"
        raise TileError(message, file=file, source=text, start=error.start, end=error.end) from None


def _module(block: Block, text: str) -> tuple[Module, bool]:
    """The one `cuda_tile.module` of a text, or a module around what stands on its own."""
    name = ""
    while len(block.ops) == 1 and isinstance(o := block.ops[0], UnknownOp) and o.name == "builtin.module":
        name = getattr((o.extra or {}).get("sym_name"), "value", "")
        block = o.regions[0] if o.regions else Block()
    if len(block.ops) == 1 and isinstance(block.ops[0], Module):
        return block.ops[0], True
    producer = text[len(PRODUCER) :].partition("\n")[0] if text.startswith(PRODUCER) else None
    return Module(sym_name=name or "kernels", producer=producer, body=block), False

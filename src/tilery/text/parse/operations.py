"""Parse operations, their regions, and the names of their results, as MLIR does."""

from __future__ import annotations

import re
from typing import NoReturn

from ...declare.operation import BY_NAME
from ...diag import ErrorKind, Note, NoteKind, TileError, suggest
from ...ir import Block, Op, UnknownOp, Value
from ...ops.names import similar
from .. import DIALECT
from ..lexer import is_word
from ..spelling import explain
from .attributes import define_alias, parse_trailing_location, skip_location
from .generic import builtin_module, generic
from .locations import as_loc, is_loc
from .names import define, parse_operand
from .state import Body, ParsedArgument, Parser, RegionState
from .types import parse_type

MAX_ERRORS = 100
NEARBY = 20_000
"""The number of tokens before and after a name that are searched for what it may mean."""


# ---------------------------------------------------------------- the walk over operations


def parse_operations(p: Parser) -> Block:
    """Parse the whole text; return a block of the top-level operations."""
    toks, last = p.toks, len(p.toks) - 1
    while p.i != last or len(p.scopes) > 1:
        if toks[p.i][:1] == "%":
            _operation(p)
        else:
            parse_item(p)
    finish(p)
    return p.scopes[0].block


def parse_item(p: Parser) -> None:
    """Parse an operation up to its first region, the end of a region, a label or an alias."""
    first, nested = p.toks[p.i][:1], len(p.scopes) > 1
    if first == "}" and nested:
        close_region(p)
    elif first == "^" and nested:
        _label(p)
    elif first == "#" and not nested:
        define_alias(p)
    elif first == "!" and not nested:
        _type_alias(p)
    else:
        _operation(p)


def _operation(p: Parser) -> None:
    start = p.i
    results = _results(p) if p.toks[start][:1] == "%" else []
    at = p.i
    token = p.toks[at]
    make = p.forms.get(token)
    if make is None:
        made = _other(p, token, at)
    else:
        p.i = at + 1
        p.op = DIALECT + make.mnemonic
        try:
            made = make.parse(p, at)
        except TileError as error:
            raise _with_example(error, make.mnemonic) from None
    if isinstance(made, Op):
        _finish(p, made, results, start, at)
    else:
        scope = RegionState(Block())
        scope.results, scope.start, scope.at, scope.body = results, start, at, made
        _resume(p, scope, None)


def _other(p: Parser, token: str, at: int) -> Op | Body:
    if token[:1] == '"' and len(token) > 1:
        return generic(p)
    if token in ("module", "builtin.module"):
        p.i += 1
        if token == "module" and p.scopes[-1].op.startswith(DIALECT):
            return p.forms[DIALECT + token].parse(p, at)
        return builtin_module(p, at)
    if not is_word(token):
        opened = p.scopes[-1].opened
        notes = [Note("this region is not closed", p.span((opened, -1))[0])] if token == "" and opened else []
        p.wrong("expected operation name in quotes", *notes)
    return _unknown(p, token)


def _unknown(p: Parser, token: str) -> NoReturn:
    near = similar(token)
    notes = [f"did you mean '{near[0]}'?"] if near else []
    dialect = token.partition(".")[0]
    if "." in token and dialect not in ("cuda_tile", "builtin"):
        note = "Registered dialects: builtin, cuda_tile ; for more info on dialect registration see "
        note += (
            "https://mlir.llvm.org/getting_started/Faq/#registered-loaded-dependent-whats-up-with-dialects-management"
        )
        p.plain(f"Dialect `{dialect}' not found for custom op '{token}' ", None, note)
    tried = "" if "." in token else f" (tried '{DIALECT}{token}' as well)"
    p.plain(f"custom op '{token}' is unknown{tried}", None, *notes)


def _results(p: Parser) -> list[tuple[str, int, int]]:
    """Read `%a, %b:2 =`: the names, the number of values each binds, and their tokens."""
    out: list[tuple[str, int, int]] = []
    toks = p.toks
    at = p.i
    if toks[at + 1] == "=":  # the usual case
        p.i = at + 2
        return [(toks[at], 1, at)]
    while True:
        at = p.i
        name = toks[at]
        if name[:1] != "%":
            p.wrong("expected valid ssa identifier")
        p.i += 1
        count = 1
        if toks[p.i] == ":":
            p.i += 1
            if not toks[p.i][:1].isdecimal():
                p.wrong("expected integer number of results")
            count = p.optional_integer(64, signed=False) or 0
            if count < 1:
                p.i -= 1
                p.plain("expected named operation to have at least 1 result")
        out.append((name, count, at))
        if toks[p.i] != ",":
            break
        p.i += 1
    p.expect("=", " after SSA name")
    return out


def _finish(p: Parser, o: Op, results: list[tuple[str, int, int]], start: int, at: int) -> None:
    """Read the location after an operation, and bind the names of its results."""
    if p.toks[p.i] == "loc":
        parse_trailing_location(p, o)
    p.scopes[-1].block.ops.append(o)
    p.op_tokens[o] = at
    if not results:
        return
    values = o.results
    if len(results) == len(values) == 1 and results[0][1] == 1:
        name, _, index = results[0]
        if (known := define(p, name, 0, values[0], index)) is not values[0]:
            _replace_result(o, values[0], known)
        return
    _bind(p, o, values, results, start)


def _bind(p: Parser, o: Op, values: list[Value], results: list[tuple[str, int, int]], start: int) -> None:
    expected = sum(count for _, count, _ in results)
    if not values:
        p.plain("cannot name an operation with no results", (start, -1))
    if expected != len(values):
        p.plain(f"operation defines {len(values)} results but was provided {expected} to bind", (start, -1))
    rest = iter(values)
    for name, count, index in results:
        for number in range(count):
            value = next(rest)
            if (known := define(p, name, number, value, index)) is not value:
                _replace_result(o, value, known)


# ---------------------------------------------------------------- regions


def _resume(p: Parser, scope: RegionState, block: Block | None) -> None:
    """Send an operation its block, then open the next region it asks for, or finish it."""
    assert scope.body is not None
    while True:
        try:
            region = scope.body.send(block)
        except StopIteration as done:
            _finish(p, done.value, scope.results, scope.start, scope.at)
            return
        except TileError as error:
            raise _with_example(error, p.op.removeprefix(DIALECT)) from None
        if p.toks[p.i] != "{":
            p.wrong("expected '{' to begin a region")
        p.i += 1
        if region.args or p.toks[p.i] != "}":
            break
        p.i += 1
        block = None
    opened = RegionState(Block())
    opened.results, opened.start, opened.at, opened.body = scope.results, scope.start, scope.at, scope.body
    opened.op, opened.number, opened.opened = p.op, region.number, p.i - 1
    p.scopes.append(opened)
    _arguments(p, opened, region.args)


def _arguments(p: Parser, scope: RegionState, args: list[ParsedArgument]) -> None:
    if not args or args[0].use is None:
        return  # arguments without names get them from the label of the block
    if p.toks[p.i][:1] == "^":
        if p.options.extensions.entry_labels and p.toks[p.i + 1] == ":":
            p.i += 2
        else:
            p.plain("invalid block name in region with named arguments")
    for a in args:
        assert a.use is not None
        name, index = a.use
        if name in p.values:
            note = Note("previously referenced here", p.span((p.where[name], -1))[0])
            p.plain(f"region entry argument '{name}' is already in use", (index, -1), note)
        value = Value(a.type, scope.block)
        scope.block.args.append(value)
        define(p, name, 0, value, index)


def _label(p: Parser) -> None:
    """Read `^bb0(%a: type):`. A second block is an error: no operation of Tile IR has several."""
    scope = p.scopes[-1]
    at, name = p.mark(), p.tok
    if name in scope.labels:
        p.plain(f"redefinition of block '{name}'", at)
    if scope.labels or scope.block.ops:
        p.plain(f"'{scope.op}' op expects region #{scope.number} to have 0 or 1 blocks", (scope.at, -1))
    scope.labels[name] = p.i
    p.i += 1
    if p.accept("(") and not p.accept(")"):
        _label_arguments(p, scope)
    p.expect(":", " after block name")


def _label_arguments(p: Parser, scope: RegionState) -> None:
    while True:
        name, index = parse_operand(p)
        p.expect(":", " and type for SSA operand")
        value = Value(parse_type(p), scope.block)
        skip_location(p)
        scope.block.args.append(define(p, name, 0, value, index))
        if not p.accept(","):
            p.expect(")")
            return


def close_region(p: Parser) -> None:
    """Parse the bracket that ends a region, and continue with the operation around it."""
    scope = p.scopes.pop()
    for name in scope.names:
        p.values.pop(name, None)
    p.i += 1
    p.op = scope.op
    _resume(p, scope, scope.block)


# ---------------------------------------------------------------- aliases and the end of the text


def _type_alias(p: Parser) -> None:
    name = p.tok[1:]
    if name in p.type_aliases:
        p.plain(f"redefinition of type alias id '{name}'")
    if "." in name:
        p.plain("type names with a '.' are reserved for dialect-defined names")
    p.i += 1
    p.expect("=", " in type alias definition")
    p.type_aliases[name] = parse_type(p)


def finish(p: Parser) -> None:
    """Check at the end of the text that every name is defined, and set the locations whose aliases came later."""
    if p.forward:
        marks = sorted(index for _, index in p.forward.values())
        message = "use of undeclared SSA value name"
        notes = [Note(message, p.span((index, -1))[0], NoteKind.ERROR) for index in marks[1:MAX_ERRORS]]
        p.plain(message, (marks[0], -1), *undeclared(p, marks[0]), *notes)
    for o, name, index in p.later:
        attr = p.aliases.get(name)
        if attr is None:
            p.plain("operation location alias was never defined", (index, -1))
        if not is_loc(attr):
            p.plain("expected location", (index, -1))
        if o is not None:
            o.loc = as_loc(attr)


def undeclared(p: Parser, index: int) -> list[str]:
    """Return a note about a name that nothing defines where it is used: its definition elsewhere, or a similar name."""
    name = p.toks[index]
    near = range(max(0, index - NEARBY), min(len(p.toks), index + NEARBY))
    for at in near:
        if p.toks[at] == name and p.toks[at + 1] == "=":
            line = p.text.count("\n", 0, p.span((at, -1))[0]) + 1
            return [f"'{name}' is defined in line {line}, in a region that does not contain the use"]
    missing = {each.partition("#")[0] for each, _ in p.forward.values()}
    known = {p.toks[at] for at in near if p.toks[at][:1] == "%"} - missing
    hint = "".join(f"; {note}" for note in suggest(name, sorted(known)))
    return [f"nothing defines '{name}'{hint}"]


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
    """Add an example of the operation to an error in its text."""
    opdef = BY_NAME.get(mnemonic)
    explain(error)
    if opdef is not None and error.kind is ErrorKind.SYNTAX:
        shown = re.compile(rf"(?<![\w$]){re.escape(opdef.mnemonic)}(?![\w$])")
        error.notes += [f"for example: {line.strip()}" for line in opdef.example.splitlines() if shown.search(line)][:1]
    return error

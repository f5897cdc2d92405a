"""Whether a module is legal Tile IR, as NVIDIA's verifier decides it: structure, types, and each operation's rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from ..attrs import Attr
from ..checking import TYPE_CHECKING
from ..declare.fields import AttrKind, Field
from ..declare.operation import BY_NAME, OpDef, has_trait
from ..declare.relations import (
    FUNCTION,
    ISOLATED,
    NO_REGION_ARGS,
    SYMBOL,
    SYMBOL_TABLE,
    TERMINATOR,
    Objection,
    Relation,
)
from ..diag import TileError
from ..ir import Block, Op, UnknownOp, Value, full_name, has_ops
from ..ops import Module
from ..types import Tile, Type, quoted
from .rules import NEWEST, Verifier, Violation
from .signatures import Getter, depends_only_on_parent, is_context_free, signature

if TYPE_CHECKING:
    from typing import Any

MAX_ERRORS = 100
ONCE_OPS = 700
"""Generating code pays for a single module of at least this many operations."""


REDEFINITION = "redefinition"
NO_TERMINATOR = "no-terminator"


class Hints(Enum):
    """How to treat optimization hints that NVIDIA's compiler does not know."""

    IGNORE = "ignore"
    WARN = "warn"
    ERROR = "error"


def verify(
    module: Module,
    *,
    stop: str | None = None,
    max_errors: int = MAX_ERRORS,
    hints: Hints = Hints.IGNORE,
    dominance: bool = True,
    fast: bool | None = True,
    reader: str | None = None,
) -> list[Violation]:
    """List the violations in a module, in the order in which NVIDIA's verifier finds them; none means it is legal.

    `stop="mlir"` stops where MLIR's verifier does, at the first operation that is wrong. A module that was just read
    from bytecode needs no check of `dominance`: bytecode can only refer to values that are already defined. Code is
    generated and kept for later modules; with `fast=None` only if that pays for this module alone. `reader` selects
    the verifier of an older version.
    """
    found: list[Violation] = []
    limit = 1 if stop == "mlir" else max_errors
    errors = 0
    # MLIR checks dominance only if everything else is legal.
    small = fast is None and not any(has_ops(block, ONCE_OPS) for block in module.blocks)
    rules = NEWEST if reader is None else _older(reader)
    searches = (_walk(module, hints, small, rules), _dominance(module) if dominance else ())
    for search in searches:
        for finding in search:
            found.append(finding if rules is NEWEST else rules.reword(finding))
            errors += not finding.warning
            if errors >= limit:
                return found
    return found


def _older(reader: str) -> Verifier:
    from .older import find_verifier  # rarely needed

    return find_verifier(reader)


def problem_at_call(o: Op, ancestors: list[Op]) -> Violation | None:
    """Check what is known of an operation when it is made: its parent, attributes, operands, results and rules."""
    if (first := _parent(o, o.opdef, ancestors)) is not None:
        return first
    for check_all in (_attributes, _values, _rules):
        if (first := next(check_all(o, o.opdef), None)) is not None:
            return first
    return _own(o, ancestors)


def problem_at_end(o: Op) -> Violation | None:
    """Check an operation again once its regions are complete."""
    if (found := _terminators(o)) is not None:
        return found
    for check in (o.check, o.check_regions):
        answer = None if check is None else check()
        if answer is not None:
            return _finding(o, answer)
    return None


# ---------------------------------------------------------------- the walk


class LegalSignatures(dict[type[Op], "tuple[Getter, set[Any], set[Any], bool]"]):
    """The signatures accepted so far, by class: the function that computes them, those that are legal, those that need
    no further check, and whether a terminator needs none given its parent. Used for one verification."""

    def __init__(self, small: bool) -> None:
        self.small = small

    def __missing__(self, cls: type[Op]) -> tuple[Getter, set[Any], set[Any], bool]:
        legal: set[Any] = set()
        found = self[cls] = (
            signature(cls, self.small),
            legal,
            legal if is_context_free(cls) else set(),
            depends_only_on_parent(cls),
        )
        return found


def _walk(module: Module, hints: Hints, small: bool, rules: Verifier) -> Iterator[Violation]:
    """Visit each operation before its regions, and once more after them, with an explicit stack."""
    scene = _Scene(module, hints, rules)
    passed = LegalSignatures(small)
    met = scene.locations.add
    stack: list[tuple[Iterator[Op], Block | None]] = [(iter([module]), None)]
    while stack:
        ops, block = stack[-1]
        for o in ops:
            met(o.loc)
            get, legal, enough, last = passed[o.__class__]
            try:
                mine = get(o)
                if mine in enough:
                    continue
                if last and block is not None and block.ops[-1] is o and scene.ancestors:
                    mine = (mine, scene.ancestors[-1].name)
                    if mine in legal:
                        continue
                known = mine in legal
            except (AttributeError, TypeError):
                mine, known = None, False  # a field is missing or has the wrong type
            findings = scene.before(o, block, known)
            yield from findings
            if not findings and mine is not None:
                legal.add(mine)
            if o.nested and (blocks := o.blocks):
                scene.enter(o)
                stack.append((iter(()), None))  # marks the end of `o`
                stack += [(iter(b.ops), b) for b in reversed(blocks)]
                break
        else:
            stack.pop()
            if block is None and stack:
                yield from scene.leave()


class _Scene:
    """The state of the walk: the enclosing operations, those that are illegal, and those that refer to symbols."""

    def __init__(self, module: Module, hints: Hints, rules: Verifier) -> None:
        self.module, self.hints, self.rules = module, hints, rules
        self.ancestors: list[Op] = []
        self.broken: set[Op] = set()
        self.referring: list[Op] = []
        self.first_inside: list[int] = []
        self.locations: set[Attr | None] = set()
        """Locations seen so far in the innermost function."""
        self.outer_locations: list[set[Attr | None]] = []

    def before(self, o: Op, block: Block | None, known: bool) -> list[Violation]:
        """Check an operation before its regions; with `known`, its types and attributes are already accepted."""
        if o.check_symbols is not None:
            self.referring.append(o)
        first = _before(o, block, self.ancestors, known, self.rules)
        if first is not None:
            self.broken.add(o)
            return [first]
        findings = [] if self.hints is Hints.IGNORE else list(_hints(o, self.hints))
        if any(not finding.warning for finding in findings):
            self.broken.add(o)
        return findings

    def enter(self, o: Op) -> None:
        self.ancestors.append(o)
        self.first_inside.append(len(self.referring))
        if o.check_locations is not None:
            self.outer_locations.append(self.locations.copy())
            self.locations.clear()

    def leave(self) -> list[Violation]:
        """Check the innermost operation after everything inside it."""
        o, first = self.ancestors.pop(), self.first_inside.pop()
        inside: set[Attr | None] = set()
        if o.check_locations is not None:
            inside = self.locations.copy()
            self.locations.update(self.outer_locations.pop())
        if o in self.broken or isinstance(o, UnknownOp):
            return []
        if o.opdef.implicit and (found := _terminators(o)) is not None:
            return [found]
        findings: list[Violation] = []
        if SYMBOL_TABLE in o.opdef.traits:
            findings += [*_symbols(o), *_references(self.referring[first:], self.module)]
        if o.check_regions is not None and (answer := self.rules.check_regions(o)) is not None:
            findings.append(_finding(o, answer))
        if o.check_locations is not None and (answer := o.check_locations(inside)) is not None:
            findings.append(_finding(o, answer))
        return findings


def op_error(o: Op, message: str, field: str = "", **more: Any) -> Violation:
    return Violation(o, f"'{full_name(o)}' op {message}", field, **more)


def _before(o: Op, block: Block | None, ancestors: list[Op], known: bool, rules: Verifier = NEWEST) -> Violation | None:
    """Check an operation before its regions, in NVIDIA's order: structure, attributes, operands, results, rules."""
    if isinstance(o, UnknownOp):
        return None
    opdef = o.opdef
    if (first := _structure(o, opdef, block, ancestors, rules)) is not None:
        return first
    for check_all in () if known else (_attributes, _values, _rules):
        if (first := next(check_all(o, opdef, rules), None)) is not None:
            return first
    return _own(o, ancestors, rules)


def _structure(o: Op, opdef: OpDef, block: Block | None, ancestors: list[Op], rules: Verifier) -> Violation | None:
    if (first := _parent(o, opdef, ancestors, rules)) is not None:
        return first
    for index, f in enumerate(opdef.regions):
        inner = getattr(o, f.attr)
        if inner is None:
            if f.arity == "one":
                problem = f"region #{index} ('{f.name}') failed to verify constraint: region with 1 blocks"
                return op_error(o, problem)
            continue
        if not inner.ops and SYMBOL_TABLE not in opdef.traits:
            return op_error(o, "expects a non-empty block")
        if inner.args and NO_REGION_ARGS in opdef.traits:
            return op_error(o, f"region #{index} should have no arguments")
    if TERMINATOR in opdef.traits and block is not None and block.ops[-1] is not o:
        return op_error(o, "must be the last operation in the parent block")
    if SYMBOL in opdef.traits and ancestors and not isinstance(ancestors[-1], (Module, UnknownOp)):
        return op_error(o, "symbol's parent must have the SymbolTable trait")
    return None


def _parent(o: Op, opdef: OpDef, ancestors: list[Op], rules: Verifier = NEWEST) -> Violation | None:
    if not opdef.parents or not ancestors or _in_parents(ancestors[-1], parents := rules.parents(opdef)):
        return None
    allowed = ", ".join(f"cuda_tile.{name}" for name in parents)
    return op_error(o, f"expects parent op to be one of '{allowed}'")


def _in_parents(parent: Op, parents: tuple[str, ...]) -> bool:
    if parent.name in parents:
        return True
    # One kind of function may hold what another may: NVIDIA's messages leave out the test-only one.
    return has_trait(parent, FUNCTION) and any(BY_NAME[name].has(FUNCTION) for name in parents)


# ---------------------------------------------------------------- rules from the declaration


def _attributes(o: Op, opdef: OpDef, rules: Verifier = NEWEST) -> Iterator[Violation]:
    for f in opdef.attrs:
        value = getattr(o, f.attr)
        if f.minimum is not None and value < f.minimum:
            width = 32 if f.kind is AttrKind.I32 else 64
            what = "non-negative" if width == 32 else "minimum"
            limit = "whose value is non-negative" if what == "non-negative" else f"whose minimum value is {f.minimum}"
            problem = f"attribute '{f.name}' failed to satisfy constraint: {width}-bit signless integer attribute"
            yield op_error(o, f"{problem} {limit}", f.name)


def _values(o: Op, opdef: OpDef, rules: Verifier = NEWEST) -> Iterator[Violation]:
    for what, fields in (("operand", opdef.operands), ("result", opdef.outs)):
        index = 0
        for f in fields:
            kind = f.kind if rules is NEWEST else rules.kind(opdef, f)
            for value in _flat(o, f):
                if not kind.ok(value.type):
                    many = "variadic of " if f.arity == "var" else ""
                    got = f"must be {many}{kind.text}, but got {quoted(value.type)}"
                    yield op_error(o, f"{what} #{index} {got}", f.name)
                index += 1


def _flat(o: Op, f: Field) -> tuple[Value, ...]:
    value = getattr(o, f.attr)
    if f.arity == "var":
        many: tuple[Value, ...] = value
        return many
    return () if value is None else (value,)


def _rules(o: Op, opdef: OpDef, rules: Verifier = NEWEST) -> Iterator[Violation]:
    for rule in opdef.rules:
        if not (agrees(o, opdef, rule) if rule.test is None else rule.test(o)):
            yield op_error(o, rule.problem, rule.names[-1])


def agrees(o: Op, opdef: OpDef, rule: Relation) -> bool:
    """Whether the values that a rule names agree; a tuple of values is compared item by item."""
    groups = [[v.type for v in _flat(o, opdef.field(name))] for name in rule.names]
    if len(groups) == 1:
        groups = [[t] for t in groups[0]]
    first = [_aspect(t, rule.what) for t in groups[0]] if groups else []
    return all([_aspect(t, rule.what) for t in group] == first for group in groups[1:])


def _aspect(t: Type, what: str) -> object:
    if what == "type" or not isinstance(t, Tile):
        return t
    return {"shape": t.shape, "rank": t.rank, "element type": t.element}[what]


def _own(o: Op, ancestors: list[Op], rules: Verifier = NEWEST) -> Violation | None:
    """Apply the operation's own rules: `check`, then `check_nested`, which also sees the enclosing operations."""
    answer = rules.check(o)
    if answer is None and o.check_nested is not None:
        answer = rules.check_nested(o, ancestors)
    return None if answer is None else _finding(o, answer)


def _finding(o: Op, answer: str | Objection) -> Violation:
    problem = Objection(answer) if isinstance(answer, str) else answer
    target = problem.op or o
    message = problem.message if isinstance(problem.message, str) else "".join(map(_shown, problem.message))
    if not problem.bare:
        message = f"'{full_name(target)}' op {message}"
    return Violation(target, message, problem.field, problem.notes, problem.related)


def _shown(part: str | Attr) -> str:
    if isinstance(part, str):
        return part
    from ..text.print.attributes import attr_text  # only a failure needs it

    try:
        return attr_text(part)
    except TileError:  # a location can share so much that its text never ends
        return repr(part)


def _hints(o: Op, mode: Hints) -> Iterator[Violation]:
    """Report hints that the compiler ignores."""
    from .hints import warnings

    if isinstance(o, UnknownOp):
        return
    for f in o.opdef.attrs:
        value = getattr(o, f.attr) if f.kind is AttrKind.HINTS else None
        if value is None:
            continue
        said = list(warnings(value.value, f.hints))
        yield from (Violation(o, text, f.name, warning=True) for text in said)
        if said and mode is Hints.ERROR:
            yield op_error(o, "Optimization hints verification failed", f.name)


# ---------------------------------------------------------------- rules about regions


def _terminators(o: Op) -> Violation | None:
    """Check that each block ends with a suitable terminator."""
    opdef = o.opdef
    for block in o.blocks:
        last = block.ops[-1]
        if not isinstance(last, UnknownOp):
            if last.opdef.mnemonic == opdef.implicit:
                continue
            if not last.opdef.has(TERMINATOR):
                return Violation(last, f"block with no terminator, has '{full_name(last)}'", rule=NO_TERMINATOR)
        if not _ends(last, opdef):
            implied = f"cuda_tile.{opdef.implicit}"
            return op_error(
                o,
                f"expects regions to end with '{implied}', found '{full_name(last)}'",
                notes=(f"in custom textual format, the absence of terminator implies '{implied}'",),
            )
    return None


def _references(referring: list[Op], module: Module) -> Iterator[Violation]:
    known = {g.sym_name: g for g in reversed(module.globals)} if referring else {}
    for inner in referring:
        if (answer := inner.check_symbols(known)) is not None:
            yield _finding(inner, answer)


def _ends(last: Op, opdef: OpDef) -> bool:
    """A terminator other than the implicit one may end the regions of the parents that it names."""
    return not isinstance(last, UnknownOp) and opdef.mnemonic in last.opdef.parents


def _symbols(o: Op) -> Iterator[Violation]:
    yield from redefinitions(o.blocks[0].ops if o.blocks else ())


def redefinitions(ops: Iterable[Op]) -> Iterator[Violation]:
    """Report operations that define a symbol which another has defined before."""
    seen: dict[str, Op] = {}
    for inner in ops:
        name = getattr(inner, "sym_name", None)
        if name is None:
            continue
        if name in seen:
            yield Violation(
                inner,
                f"redefinition of symbol named '{name}'",
                related=((seen[name], "see existing symbol definition here"),),
                rule=REDEFINITION,
            )
        seen.setdefault(name, inner)


# ---------------------------------------------------------------- dominance


def _dominance(module: Module) -> Iterator[Violation]:
    """Check that operands are defined before their use, in the same or an enclosing block, and not across isolation."""
    visible: dict[Value, int] = {}
    level = 0  # the number of enclosing isolated operations
    # Blocks to enter; blocks in progress, with the number of values visible outside; operations to finish.
    todo: list[Any] = [(iter([module]), 0)]
    while todo:
        item = todo[-1]
        if isinstance(item, Block):
            todo[-1] = (iter(item.ops), len(visible))
            for value in item.args:
                visible[value] = level
            continue
        if isinstance(item, Op):
            todo.pop()
            level -= _isolated(item)
            for value in item.results:
                visible[value] = level
            continue
        ops, outside = item
        for o in ops:
            for value in o.operands:
                if visible.get(value) != level:
                    yield from _operands_visible(o, visible, level)
                    break
            if o.nested and (blocks := o.blocks):
                level += _isolated(o)
                todo += [o, *reversed(blocks)]
                break
            for value in o.results:
                visible[value] = level
        else:
            todo.pop()
            while len(visible) > outside:
                visible.popitem()


def _isolated(o: Op) -> bool:
    return not isinstance(o, UnknownOp) and o.opdef.has(ISOLATED)


def _operands_visible(o: Op, visible: dict[Value, int], level: int) -> Iterator[Violation]:
    for index, value in enumerate(o.operands):
        defined = visible.get(value)
        if defined is None:
            yield op_error(o, f"operand #{index} does not dominate this use")
        elif defined < level:
            note = "required by region isolation constraints"
            yield op_error(o, "using value defined outside the region", notes=(note,))

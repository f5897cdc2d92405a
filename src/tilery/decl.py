"""The declaration language: one decorated class per operation is the only place where that operation is described."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeVar, dataclass_transform

from .attrs import TileEnum
from .ir import Op, gathered
from .record import dataclass, field
from .types import (
    I4,
    NUMBERS,
    SCALARS,
    TOKEN,
    Function,
    GatherScatterView,
    PartitionView,
    Ptr,
    StridedView,
    TensorView,
    Tile,
    Type,
)
from .version import SUPPORTED, TESTING, V13_1, Version

# ---------------------------------------------------------------- constraints on the type of a value


@dataclass(frozen=True, slots=True)
class Constraint:
    """Which types a value may have, and how NVIDIA's messages say so."""

    text: str
    ok: Callable[[Type], bool]
    only: Type | None = None
    """The single type that satisfies it, if there is one."""


def tile_of(*elements: str, rank: int | None = None, what: str = "tile") -> Constraint:
    """Tiles of these elements (`ptr` for any pointer), of any rank or of one."""
    scalars = {SCALARS[name] for name in elements if name != "ptr"}
    pointers = "ptr" in elements

    def ok(t: Type) -> bool:
        if not isinstance(t, Tile) or (rank is not None and t.rank != rank):
            return False
        return t.element in scalars or (pointers and isinstance(t.element, Ptr))

    names = " or ".join("Pointer type" if name == "ptr" else name for name in elements)
    prefix = what if rank is None else f"{rank}D {what}"
    only = Tile((), SCALARS[elements[0]]) if rank == 0 and len(elements) == 1 and not pointers else None
    return Constraint(f"{prefix} of {names} values", ok, only)


def instance_of(text: str, *classes: type[Type]) -> Constraint:
    return Constraint(text, lambda t: isinstance(t, classes))


_INTS = ("i1", "i8", "i16", "i32", "i64")
_BASE_FLOATS = ("f16", "bf16", "f32", "f64")
_FLOATS = (*_BASE_FLOATS, "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")

AnyType = Constraint("any type", lambda t: True)
AnyTile = instance_of("Tile type", Tile)
IntTile = tile_of(*_INTS)
IntTile4 = tile_of(*_INTS, "i4")
BaseFloatTile = tile_of(*_BASE_FLOATS)
FloatTile = tile_of(*_FLOATS)
NumberTile = tile_of(*_INTS, *_FLOATS)
NumberTile4 = tile_of(*_INTS, *_FLOATS, "i4")
PtrTile = tile_of("ptr")
BoolTile = tile_of("i1")
I8Tile = tile_of("i8")
I64Tile = tile_of("i64")
SmallIntTile = tile_of("i1", "i8", "i16", "i32")
ScalarBool = tile_of("i1", rank=0)
ScalarI32 = tile_of("i32", rank=0)
ScalarInt = tile_of(*_INTS, rank=0)
ScalarPtr = tile_of("ptr", rank=0)
TokenType = Constraint("cuda tile token type", lambda t: t is TOKEN, TOKEN)
AnyTensorView = instance_of("tensor view type", TensorView)
AnyPartitionView = instance_of("partition view type", PartitionView)
AnyStridedView = instance_of("strided view type", StridedView)
AnyGatherScatterView = instance_of("gather/scatter view type", GatherScatterView)
AnyTileView = instance_of("TileView instance", PartitionView, StridedView, GatherScatterView)
_NUMBER_NAMES = " or ".join(s.text for s in NUMBERS)
DialectType = Constraint(
    f"{_NUMBER_NAMES} or ", lambda t: not isinstance(t, Function) and t is not I4
)  # a number or any type of the dialect; NVIDIA's message really ends like this


# ---------------------------------------------------------------- relations between the types of an op's values


@dataclass(frozen=True, slots=True)
class Rule:
    """These values agree in `what`: their type, shape, rank or element type; or `test` says whether they do."""

    what: str
    names: tuple[str, ...]
    problem: str
    """what NVIDIA's verifier says when they do not"""
    test: Callable[[Any], bool] | None = None

    @property
    def text(self) -> str:
        return self.problem.removeprefix("failed to verify that ")


def _agree(what: str, names: tuple[str, ...]) -> Rule:
    the = "the " if what == "element type" else ""
    return Rule(what, names, f"failed to verify that all of {{{', '.join(names)}}} have {the}same {what}")


def same_type(*names: str) -> Rule:
    return _agree("type", names)


def same_shape(*names: str) -> Rule:
    return _agree("shape", names)


def same_rank(*names: str) -> Rule:
    return _agree("rank", names)


def same_element(*names: str) -> Rule:
    return _agree("element type", names)


def uniform(what: str, *names: str, of: str = "operands and results") -> Rule:
    """Like the others, in the words of MLIR's own traits, which are checked last."""
    return Rule(what, names, f"requires the same {what} for all {of}")


def holds(text: str, test: Callable[[Any], bool], *names: str) -> Rule:
    """Any other relation, of which NVIDIA says `text`."""
    return Rule("relation", names, f"failed to verify that {text}", test)


@dataclass(frozen=True, slots=True)
class Problem:
    """What an operation's own check found: the message without `'cuda_tile.x' op`, unless `bare`."""

    message: str
    field: str = ""
    bare: bool = False
    op: Op | None = None
    """the operation to blame, where it is not the one that was checked"""
    notes: tuple[str, ...] = ()
    related: tuple[tuple[Op, str], ...] = ()


class Trait(Enum):
    """What an operation is, beyond its fields."""

    PURE = "no memory effect, and may be executed speculatively"
    NO_EFFECT = "no memory effect, but must not be executed where the program does not"
    REGION_EFFECTS = "has the memory effects of the operations inside"
    ELEMENTWISE = "works on each element by itself"
    COMMUTATIVE = "its first two operands may be swapped"
    CONSTANT = "produces a constant"
    TERMINATOR = "ends a block"
    RETURN_LIKE = "hands its operands to the parent operation"
    ISOLATED = "nothing inside uses values from outside"
    SYMBOL = "defines a symbol"
    SYMBOL_TABLE = "its symbols are unique"
    ALLOCATION_SCOPE = "ends the life of what is allocated inside"
    NO_REGION_ARGS = "its regions have no arguments"

    __hash__ = object.__hash__  # quicker than Enum's, which hashes the name


PURE, NO_EFFECT, REGION_EFFECTS = Trait.PURE, Trait.NO_EFFECT, Trait.REGION_EFFECTS
ELEMENTWISE, COMMUTATIVE, CONSTANT = Trait.ELEMENTWISE, Trait.COMMUTATIVE, Trait.CONSTANT
TERMINATOR, RETURN_LIKE, ISOLATED = Trait.TERMINATOR, Trait.RETURN_LIKE, Trait.ISOLATED
SYMBOL, SYMBOL_TABLE, ALLOCATION_SCOPE = Trait.SYMBOL, Trait.SYMBOL_TABLE, Trait.ALLOCATION_SCOPE
NO_REGION_ARGS = Trait.NO_REGION_ARGS


# ---------------------------------------------------------------- fields


class AttrKind(Enum):
    """How an attribute is written in bytecode and text; the value says what it is."""

    ENUM = "a keyword"
    FLAG = "present or absent"
    STR = "a string"
    SYM_NAME = "the name of a symbol"
    SYM_REF = "a reference to a symbol"
    I64 = "a 64-bit integer"
    I32 = "a 32-bit integer"
    BOOL = "true or false"
    TYPE = "a type"
    I32_ARRAY = "an array of 32-bit integers"
    BOOL_ARRAY = "an array of booleans"
    DENSE = "a dense constant"
    PREDICATE = "an assume predicate"
    HINTS = "optimization hints"
    ARRAY = "an array of attributes"

    __hash__ = object.__hash__


REQUIRED: Any = object()
INFER: Any = object()


@dataclass(slots=True, eq=False)
class Field:
    """One operand, attribute, result or region of an operation."""

    role: str
    """operand, attr, out, region, or state (kept with the op but no part of it)"""
    arity: str = "one"
    """one, opt (may be absent) or var (a tuple)"""
    kind: Any = None
    """the Constraint of a value, the AttrKind of an attribute"""
    doc: str = ""
    default: Any = REQUIRED
    since: Version = V13_1
    enum: type[TileEnum] | None = None
    only: tuple[TileEnum, ...] = ()
    """the members that the op accepts, where it does not take all"""
    minimum: int | None = None
    hints: tuple[str, ...] = ()
    """the optimization hints that the op knows"""
    infer: Callable[[Any], Any] | None = None
    """computes the type of a result, or the default of an attribute, from the op"""
    name: str = ""
    """the specification's name; `attr` is the Python name, which differs for Python's keywords"""
    attr: str = ""

    def default_of(self, o: Any) -> Any:
        return self.infer(o) if self.default is INFER and self.infer else self.default


def operand(kind: Constraint, doc: str) -> Any:
    """A value that is always there."""
    return Field("operand", "one", kind, doc)


def optional(kind: Constraint, doc: str, *, since: Version | None = None, default: Any = None) -> Any:
    """A value that may be absent."""
    return Field("operand", "opt", kind, doc, None, since or V13_1)


def variadic(kind: Constraint, doc: str, *, default: Any = ()) -> Any:
    """A tuple of values."""
    return Field("operand", "var", kind, doc, ())


def attr(
    kind: AttrKind | type[TileEnum],
    doc: str,
    *,
    default: Any = REQUIRED,
    since: Version | None = None,
    only: Iterable[TileEnum] = (),
    minimum: int | None = None,
    infer: Callable[[Any], Any] | None = None,
) -> Any:
    """An attribute that is always there, with a default where one is given."""
    is_kind = isinstance(kind, AttrKind)
    return Field(
        "attr",
        "one",
        kind if is_kind else AttrKind.ENUM,
        doc,
        default,
        since or V13_1,
        None if is_kind else kind,  # type: ignore[arg-type]  # narrowed by is_kind
        tuple(only),
        minimum,
        infer=infer,
    )


def optional_attr(
    kind: AttrKind | type[TileEnum],
    doc: str,
    *,
    since: Version | None = None,
    only: Iterable[TileEnum] = (),
    hints: Iterable[str] = (),
    default: Any = None,
) -> Any:
    """An attribute that may be absent."""
    made = attr(kind, doc, default=None, since=since, only=only)
    made.arity, made.hints = "opt", tuple(hints)
    return made


def flag(doc: str, *, since: Version | None = None, default: bool = False) -> Any:
    """An attribute that says yes by being there."""
    return Field("attr", "opt", AttrKind.FLAG, doc, False, since or V13_1)


def out(
    kind: Constraint,
    doc: str,
    *,
    since: Version | None = None,
    default: Any = INFER,
    infer: Callable[[Any], Type] | None = None,
) -> Any:
    """A result. Pass `Value(type)` where its type does not follow from the operands."""
    return Field("out", "one", kind, doc, INFER, since or V13_1, infer=infer)


def outs(
    kind: Constraint, doc: str, *, default: Any = INFER, infer: Callable[[Any], Iterable[Type]] | None = None
) -> Any:
    """A tuple of results."""
    return Field("out", "var", kind, doc, INFER, infer=infer)


def region(doc: str, *, default: Any = REQUIRED) -> Any:
    """A region; it has one block."""
    return Field("region", "one", None, doc)


def optional_region(doc: str, *, default: Any = None) -> Any:
    """A region that may be empty, which is None."""
    return Field("region", "opt", None, doc, None)


def state(doc: str, *, default: Any = None) -> Any:
    """Something kept with the op that is no part of it: not encoded, printed or compared."""
    return Field("state", "opt", None, doc, None)


# ---------------------------------------------------------------- operations


@dataclass(slots=True, eq=False)
class OpDef:
    """All that is known of an operation."""

    cls: type[Op]
    mnemonic: str
    opcode: int
    since: Version
    group: str
    format: str
    example: str
    traits: frozenset[Trait]
    rules: tuple[Rule, ...]
    segmented: bool
    formerly: str
    renamed: Version
    implicit: str
    parents: tuple[str, ...]
    hint: str
    summary: str
    description: str
    fields: list[Field]
    operands: list[Field] = field(default_factory=list)
    attrs: list[Field] = field(default_factory=list)
    outs: list[Field] = field(default_factory=list)
    regions: list[Field] = field(default_factory=list)

    def __post_init__(self) -> None:
        lists = {"operand": self.operands, "attr": self.attrs, "out": self.outs, "region": self.regions, "state": []}
        for f in self.fields:
            f.since = max(f.since, self.since)
            lists[f.role].append(f)

    @property
    def cname(self) -> str:
        """The name in NVIDIA's reader diagnostics, `AddIOp`."""
        return self.cls.__name__ + "Op"

    def name_in(self, version: Version) -> str:
        """The mnemonic that NVIDIA's tools of a version have for it."""
        return self.formerly if version < self.renamed else self.mnemonic

    @property
    def testing(self) -> bool:
        return self.since >= TESTING

    def field(self, name: str) -> Field:
        return next(f for f in self.fields if f.name == name)

    def has(self, trait: Trait) -> bool:
        return trait in self.traits


BY_OPCODE: dict[int, OpDef] = {}
BY_NAME: dict[str, OpDef] = {}
"""Every operation by mnemonic, and by its former one."""

OpT = TypeVar("OpT", bound=Op)


@dataclass_transform(
    kw_only_default=True,
    # The others always have a default: to a type checker they are plain values, which makes them optional.
    field_specifiers=(operand, attr, region),
)
def op(
    mnemonic: str,
    opcode: int,
    *,
    group: str,
    format: str,
    example: str,
    since: Version = V13_1,
    traits: Iterable[Trait] = (),
    rules: Iterable[Rule] = (),
    segmented: bool = False,
    formerly: str = "",
    renamed: Version = V13_1,
    implicit: str = "",
    parents: Iterable[str] = (),
    hint: str = "",
) -> Callable[[type[OpT]], type[OpT]]:
    """Declare an operation. Fields stand in the specification's order; the first docstring line is the summary.

    `formerly` is the mnemonic that it had before version `renamed`, `implicit` the terminator that text may leave out,
    `parents` where it may stand, `hint` the name that text gives to its first result.
    """

    def decorate(cls: type[OpT]) -> type[OpT]:
        fields: list[Field] = []
        for name in cls.__annotations__:
            f = cls.__dict__[name]
            f.attr, f.name = name, name.rstrip("_")
            fields.append(f)
        skip = {*cls.__annotations__, "__dict__", "__weakref__", "__annotations__"}
        body = {k: v for k, v in cls.__dict__.items() if k not in skip}
        body["__slots__"] = tuple(f.attr for f in fields)
        body["__match_args__"] = body["__slots__"]
        new: type[OpT] = type(cls.__name__, cls.__bases__, body)
        summary, _, description = (cls.__doc__ or "").strip().partition("\n")
        opdef = OpDef(
            new,
            mnemonic,
            opcode,
            since,
            group,
            " ".join(format.split()),
            example,
            frozenset(traits),
            tuple(rules),
            segmented,
            formerly,
            renamed,
            implicit,
            tuple(parents),
            hint,
            summary,
            _dedent(description),
            fields,
        )
        _validate(opdef)
        new.opdef = opdef
        new.nested = bool(opdef.regions)
        # To type checkers these are the base class's properties.
        own = {
            "name": mnemonic,
            "operands": gathered(opdef.operands),
            "results": gathered(opdef.outs),
            "blocks": gathered(opdef.regions),
        }
        for name, found in own.items():
            setattr(new, name, found)
        type.__setattr__(new, "__init__", _first_init)
        _register(opdef)
        return new

    return decorate


def _dedent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _register(opdef: OpDef) -> None:
    names = [opdef.mnemonic] + ([opdef.formerly] if opdef.formerly else [])
    for name in names:
        if name in BY_NAME:
            raise TypeError(f"{opdef.mnemonic}: the mnemonic {name!r} is already taken")
        BY_NAME[name] = opdef
    if opdef.opcode in BY_OPCODE:
        raise TypeError(f"{opdef.mnemonic}: opcode {opdef.opcode:#x} is already {BY_OPCODE[opdef.opcode].mnemonic}")
    BY_OPCODE[opdef.opcode] = opdef


def _validate(opdef: OpDef) -> None:
    """Refuse a declaration that contradicts itself."""
    names = {f.name for f in opdef.fields}
    where = f"{opdef.mnemonic}: "
    for f in opdef.fields:
        if keyword.iskeyword(f.attr):
            raise TypeError(f"{where}'{f.attr}' is a keyword, call the field '{f.attr}_'")
        if f.role != "out" and f.since > opdef.since and f.default is REQUIRED:
            raise TypeError(f"{where}'{f.name}' is newer than the op and needs a default")
        if f.role == "out" and f.since > opdef.since and f.kind.only is None:
            raise TypeError(f"{where}result '{f.name}' is newer than the op, so its type must be fixed")
        if f.since not in (*SUPPORTED, TESTING):
            raise TypeError(f"{where}'{f.name}' is from an unknown version {f.since}")
    if not opdef.segmented and sum(f.arity != "one" for f in opdef.operands) > 1:
        raise TypeError(f"{where}several operands of unknown number need segmented=True")
    used = {*re.findall(r"\$(\w+)", opdef.format), *(n for rule in opdef.rules for n in rule.names)}
    if unknown := used - names:
        raise TypeError(f"{where}no field is called {', '.join(sorted(unknown))}")


def _first_init(self: Any, **fields: Any) -> None:
    """Stands in for a constructor until it is needed: compiling all of them would slow down every start."""
    from .constructors import constructor

    made = self.__class__.__init__ = constructor(self.opdef)
    made(self, **fields)


def registered(*, testing: bool = False) -> list[OpDef]:
    """Every operation by mnemonic; the test-only ones only where testing is on."""
    from . import ops  # noqa: F401  # importing them declares them

    return sorted((d for d in BY_OPCODE.values() if testing or not d.testing), key=lambda d: d.mnemonic)

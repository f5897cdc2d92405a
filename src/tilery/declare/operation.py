"""The declaration of an operation: one decorated class, from which everything else is derived."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable

from ..checking import TYPE_CHECKING
from ..ir import Op, UnknownOp, gathered
from ..version import SUPPORTED, TESTING, V13_1, Version
from .fastclass import dataclass, dataclass_transform, field
from .fields import REQUIRED, Field, attr, operand, region
from .relations import Rule, Table, Trait

if TYPE_CHECKING:
    from typing import Any, TypeVar

    OpT = TypeVar("OpT", bound=Op)


@dataclass(slots=True, eq=False)
class OpDef:
    """Everything known about an operation."""

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
    fields: list[Field]
    annotations: dict[str, str]
    """the declared types of the fields, as text"""
    syntax: str = ""
    """the syntax of a custom format, in the language of formats, with `%name` for new names"""
    tables: tuple[Table, ...] = ()
    summary: str = ""
    description: str = ""
    operands: list[Field] = field(default_factory=list)
    attrs: list[Field] = field(default_factory=list)
    outs: list[Field] = field(default_factory=list)
    regions: list[Field] = field(default_factory=list)

    def __post_init__(self) -> None:
        summary, _, description = (self.cls.__doc__ or "").strip().partition("\n")
        self.summary = summary
        self.description = "\n".join(line.strip() for line in description.strip().splitlines())
        lists = {"operand": self.operands, "attr": self.attrs, "out": self.outs, "region": self.regions, "state": []}
        for f in self.fields:
            f.since = max(f.since, self.since)
            lists[f.role].append(f)

    @property
    def cname(self) -> str:
        """The name in NVIDIA's reader diagnostics, `AddIOp`."""
        return self.cls.__name__ + "Op"

    def name_in(self, version: Version) -> str:
        """Return the mnemonic that NVIDIA's tools of a version use."""
        return self.formerly if version < self.renamed else self.mnemonic

    @property
    def testing(self) -> bool:
        return self.since >= TESTING

    def field(self, name: str) -> Field:
        return next(f for f in self.fields if f.name == name)

    def has(self, trait: Trait) -> bool:
        return trait in self.traits


def has_trait(o: Op, trait: Trait) -> bool:
    """Return whether an operation has a trait; an operation of another dialect has none."""
    return not isinstance(o, UnknownOp) and trait in o.opdef.traits


BY_OPCODE: dict[int, OpDef] = {}
BY_NAME: dict[str, OpDef] = {}
"""Every operation by its mnemonic, and by its former one."""


@dataclass_transform(
    kw_only_default=True,
    # The other fields always have a default: to a type checker they are plain values, hence optional.
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
    syntax: str = "",
    tables: tuple[Table, ...] = (),
) -> Callable[[type[OpT]], type[OpT]]:
    """Declare an operation. Fields follow the order of the specification; the first docstring line is the summary.

    `formerly` is the mnemonic before version `renamed`, `implicit` the terminator that text may omit, `parents` the
    operations that it may be in, `hint` the name that text gives to its first result. `syntax` describes a custom
    format, and `tables` list the combinations of shapes or types that it accepts.
    """

    def decorate(cls: type[OpT]) -> type[OpT]:
        fields = _fields(cls)
        new = _with_slots(cls, fields)
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
            fields,
            cls.__annotations__,
            syntax,
            tables,
        )
        _validate(opdef)
        _equip(opdef)
        _register(opdef)
        return new

    return decorate


def _fields(cls: type[Op]) -> list[Field]:
    """Return the fields that a class declares, and give them their names."""
    fields: list[Field] = []
    for name in cls.__annotations__:
        f = cls.__dict__[name]
        f.attr, f.name = name, name.rstrip("_")
        fields.append(f)
    return fields


def _with_slots(cls: type[OpT], fields: list[Field]) -> type[OpT]:
    """Return a copy of a class with a slot per field."""
    skip = {*cls.__annotations__, "__dict__", "__weakref__", "__annotations__"}
    body = {k: v for k, v in cls.__dict__.items() if k not in skip}
    body["__match_args__"] = tuple(f.attr for f in fields)
    body["__slots__"] = {f.attr: f.doc for f in fields}  # `help` shows the texts
    return type(cls.__name__, cls.__bases__, body)


def _equip(opdef: OpDef) -> None:
    """Set the attributes of a class that follow from its declaration."""
    cls: Any = opdef.cls
    cls.opdef, cls.nested = opdef, bool(opdef.regions)
    # To type checkers these are the base class's properties.
    cls.name = opdef.mnemonic
    cls.operands, cls.results, cls.blocks = map(gathered, (opdef.operands, opdef.outs, opdef.regions))
    cls.__init__, cls.__signature__ = _first_init, _Signature()


def _register(opdef: OpDef) -> None:
    names = [opdef.mnemonic] + ([opdef.formerly] if opdef.formerly else [])
    for name in names:
        if name in BY_NAME:
            raise TypeError(f"{opdef.mnemonic}: the mnemonic {name!r} is already taken")
    if opdef.opcode in BY_OPCODE:
        raise TypeError(f"{opdef.mnemonic}: opcode {opdef.opcode:#x} is already {BY_OPCODE[opdef.opcode].mnemonic}")
    BY_NAME.update(dict.fromkeys(names, opdef))
    BY_OPCODE[opdef.opcode] = opdef


_VERSIONS = frozenset((*SUPPORTED, TESTING))
_BLANKS = str.maketrans(dict.fromkeys("`()^,|?", " "))


def names_in(format: str) -> list[str]:
    """Return the fields that a format names. Importing `re` would take longer than all formats together.

    >>> names_in("$lhs `,` type($lhs, $rhs) ($token^)?")
    ['lhs', 'lhs', 'rhs', 'token']
    """
    return [word[1:] for word in format.translate(_BLANKS).split() if word[0] == "$"]


def _validate(opdef: OpDef) -> None:
    """Raise TypeError if a declaration contradicts itself."""
    names = {f.name for f in opdef.fields}
    where = f"{opdef.mnemonic}: "
    for f in opdef.fields:
        if keyword.iskeyword(f.attr):
            raise TypeError(f"{where}'{f.attr}' is a keyword, call the field '{f.attr}_'")
        if f.role != "out" and f.since > opdef.since and f.default is REQUIRED:
            raise TypeError(f"{where}'{f.name}' is newer than the op and needs a default")
        if f.role == "out" and f.since > opdef.since and f.kind.only is None:
            raise TypeError(f"{where}result '{f.name}' is newer than the op, so its type must be fixed")
        if f.since not in _VERSIONS:
            raise TypeError(f"{where}'{f.name}' is from an unknown version {f.since}")
    if not opdef.segmented and sum(f.arity != "one" for f in opdef.operands) > 1:
        raise TypeError(f"{where}several operands of unknown number need segmented=True")
    used = {*names_in(opdef.format), *names_in(opdef.syntax), *(n for rule in opdef.rules for n in rule.names)}
    if (opdef.format == "custom") != bool(opdef.syntax):
        raise TypeError(f"{where}a custom format, and no other, needs a syntax")
    if unknown := used - names:
        raise TypeError(f"{where}no field is called {', '.join(sorted(unknown))}")


class _Signature:
    """The signature of an operation's constructor, made when `inspect` asks for it."""

    def __get__(self, instance: object, owner: type[Op]) -> Any:
        from .constructors import signature

        return signature(owner.opdef)


def _first_init(self: Any, **fields: Any) -> None:
    """Generate the constructor on the first call and use it: generating all of them would slow down every start."""
    from .constructors import constructor

    made = self.__class__.__init__ = constructor(self.opdef)
    made(self, **fields)

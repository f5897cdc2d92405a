"""The declaration of an operation: one decorated class, from which everything else is derived."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from keyword import kwlist

from ..checking import TYPE_CHECKING
from ..ir import Op as BaseOp
from ..ir import UnknownOp
from ..version import SUPPORTED, TESTING, V13_1, Version
from .fastclass import dataclass_transform
from .fields import REQUIRED, Field, attr, operand, region
from .relations import Relation, Table, Trait

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from ..ir import Op as Op

    OpT = TypeVar("OpT", bound=Op)


class Declared:
    """A class statement with base `Op` makes one of these: the parts of a class, from which `op` makes the class.

    A class with slots needs to know its fields before it exists; making another one first takes as long again.
    """

    def __init__(self, name: str, bases: tuple[Declared, ...], members: dict[str, Any]) -> None:
        self.name, self.members = name, members
        self.annotations: dict[str, str] = members.pop("__annotations__", {})


if not TYPE_CHECKING:
    Op = Declared("Op", (), {})


class OpDef:
    """Everything known about an operation."""

    cls: type[Op]

    def __init__(
        self,
        declared: Declared,
        mnemonic: str,
        opcode: int,
        since: Version,
        group: str,
        format: str,
        example: str,
        traits: Iterable[Trait],
        rules: Iterable[Relation],
        segmented: bool,
        formerly: str,
        renamed: Version,
        implicit: str,
        parents: Iterable[str],
        hint: str,
        syntax: str,
        tables: tuple[Table, ...],
    ) -> None:
        self.mnemonic, self.opcode, self.since, self.group = mnemonic, opcode, since, group
        self.format, self.example = " ".join(format.split()), example
        self.traits, self.rules = frozenset(traits), tuple(rules)
        self.segmented, self.formerly, self.renamed = segmented, formerly, renamed
        self.implicit, self.parents, self.hint = implicit, tuple(parents), hint
        self.annotations = declared.annotations
        """the declared types of the fields, as text"""
        self.syntax = syntax
        """the syntax of a custom format, in the language of formats, with `%name` for new names"""
        self.tables = tables
        """how often the constructor was called before it was generated"""
        self.fields: list[Field] = []
        self.operands: list[Field] = []
        self.attrs: list[Field] = []
        self.outs: list[Field] = []
        self.regions: list[Field] = []
        lists = {"operand": self.operands, "attr": self.attrs, "out": self.outs, "region": self.regions, "state": []}
        for name in declared.annotations:
            f: Field = declared.members.pop(name)
            f.attr, f.name = name, name.rstrip("_")
            if f.since < since:
                f.since = since
            self.fields.append(f)
            lists[f.role].append(f)

    def __repr__(self) -> str:
        return f"<declaration of {self.mnemonic}>"

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.cls.__doc__ or "").strip().partition("\n")[0]

    @property
    def description(self) -> str:
        """The docstring after its first line."""
        rest = (self.cls.__doc__ or "").strip().partition("\n")[2]
        return "\n".join(line.strip() for line in rest.strip().splitlines())

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
    rules: Iterable[Relation] = (),
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

    def decorate(declared: Any) -> Any:
        opdef = OpDef(
            declared,
            mnemonic,
            opcode,
            since,
            group,
            format,
            example,
            traits,
            rules,
            segmented,
            formerly,
            renamed,
            implicit,
            parents,
            hint,
            syntax,
            tables,
        )
        _validate(opdef)
        opdef.cls = _make_class(opdef, declared)
        _register(opdef)
        return opdef.cls

    return decorate


def _make_class(opdef: OpDef, declared: Declared) -> type[BaseOp]:
    """Make a class with a slot per field."""
    names = tuple(declared.annotations)
    body = {
        **declared.members,
        "__match_args__": names,
        "__slots__": {f.attr: f.doc for f in opdef.fields},  # `help` shows the texts
        "__init__": _first_init,
        "__signature__": _SIGNATURE,
        "opdef": opdef,
        "name": opdef.mnemonic,  # to type checkers it is the base class's property
        "nested": bool(opdef.regions),
    }
    return type(declared.name, (BaseOp,), body)


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
_KEYWORDS = frozenset(kwlist)


def names_in(format: str) -> list[str]:
    """Return the fields that a format names. Importing `re` would take longer than all formats together.

    >>> names_in("$lhs `,` type($lhs, $rhs) ($token^)?")
    ['lhs', 'lhs', 'rhs', 'token']
    """
    return [word.partition(" ")[0].rstrip("`()^,|?") for word in format.split("$")[1:]]


def _validate(opdef: OpDef) -> None:
    """Raise TypeError if a declaration contradicts itself."""
    names = {f.name for f in opdef.fields}
    where = f"{opdef.mnemonic}: "
    for word in _KEYWORDS.intersection(opdef.annotations):
        raise TypeError(f"{where}'{word}' is a keyword, call the field '{word}_'")
    for f in opdef.fields:
        if f.since is V13_1:  # the oldest version
            continue
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


_SIGNATURE = _Signature()


def _first_init(self: Any, **fields: Any) -> None:
    """Make an operation from its fields. Types of results that follow from the operands can be left out."""
    # A command uses few operations, so the constructor is generated when the first one is made.
    from .constructors import constructor

    made = self.__class__.__init__ = constructor(self.opdef)
    made(self, **fields)

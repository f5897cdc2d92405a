"""The IR in memory: plain slotted objects, a list of operations per block, and no use lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from . import hooks
from .attrs import Attr, Loc
from .checking import TYPE_CHECKING
from .diag import ErrorKind, TileError
from .types import Type

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from .declare.fields import Field
    from .declare.operation import OpDef


def _operators(symbol: str) -> tuple[Callable[[Value, Any], Value], Callable[[Value, Any], Value]]:
    """Return the methods of a binary operator, with the value on the left and on the right."""

    def left(self: Value, other: Any) -> Value:
        made: Value = hooks.operate(symbol, self, other)
        return made

    def right(self: Value, other: Any) -> Value:
        made: Value = hooks.operate(symbol, other, self)
        return made

    return left, right


def _unary(symbol: str) -> Callable[[Value], Value]:
    def build(self: Value) -> Value:
        made: Value = hooks.operate(symbol, self)
        return made

    return build


class Value:
    """A value that an operation or a block defines. `owner` is that Op or Block, or None until it is attached."""

    __slots__ = ("owner", "type")
    type: Type
    owner: Op | Block | None

    def __init__(self, type: Type, owner: Op | Block | None = None) -> None:
        self.type = type
        self.owner = owner

    def __repr__(self) -> str:
        owner = self.owner
        if isinstance(owner, Block):
            return f"<{self.type.text}, argument of a block>"
        return f"<{self.type.text}, {f'result of {owner.name}' if owner is not None else 'not defined yet'}>"

    def __str__(self) -> str:
        """Return the type, and the operation that defines the value."""
        owner = self.owner
        if owner is None:
            return f"{self.type.text}, not defined yet"
        if isinstance(owner, Block):
            index = next((i for i, value in enumerate(owner.args) if value is self), -1)
            return f"{self.type.text}, argument {index} of a block"
        index = next((i for i, value in enumerate(owner.results) if value is self), -1)
        return f"{self.type.text}, result {index} of: {str(owner).partition(chr(10))[0]}"

    def _repr_html_(self) -> str:
        from . import markup

        kind, _, owner = str(self).partition(", ")
        return f"{markup.code(kind)} {markup.text(owner)}"

    # Operators build operations while a `tilery.Builder` is open; see there. `==` compares objects.

    __add__, __radd__ = _operators("+")
    __sub__, __rsub__ = _operators("-")
    __mul__, __rmul__ = _operators("*")
    __truediv__, __rtruediv__ = _operators("/")
    __floordiv__, __rfloordiv__ = _operators("//")
    __mod__, __rmod__ = _operators("%")
    __pow__, __rpow__ = _operators("**")
    __and__, __rand__ = _operators("&")
    __or__, __ror__ = _operators("|")
    __xor__, __rxor__ = _operators("^")
    __lshift__, __rlshift__ = _operators("<<")
    __rshift__, __rrshift__ = _operators(">>")
    __lt__, __le__, __gt__, __ge__ = (_operators(symbol)[0] for symbol in ("<", "<=", ">", ">="))
    __neg__, __invert__, __abs__ = (_unary(symbol) for symbol in ("neg", "~", "abs"))


class Op:
    """Base of every operation. `@op` gives each subclass one slot per declared field."""

    __slots__ = ("extra", "loc")
    opdef: ClassVar[OpDef]
    # The rules of an operation, as optional methods: about itself, its ancestors, its regions, the locations inside
    # it, and the symbols it refers to.
    check: ClassVar[Any] = None
    check_nested: ClassVar[Any] = None
    check_regions: ClassVar[Any] = None
    check_locations: ClassVar[Any] = None
    check_symbols: ClassVar[Any] = None
    nested: ClassVar[bool] = True
    """Whether the operation can have regions; every walk asks this."""
    loc: Loc | None
    extra: dict[str, Attr] | None
    """Discardable attributes, or None if there are none, as is usual."""

    @property
    def name(self) -> str:
        """The mnemonic, without the dialect's name."""
        return self.opdef.mnemonic

    # When one of these three is first used, its class gets a faster one of its own.

    @property
    def operands(self) -> list[Value]:
        """All operands in order, without absent optional ones."""
        return _gather(self, "operands", self.opdef.operands)

    @property
    def results(self) -> list[Value]:
        """All results in order."""
        return _gather(self, "results", self.opdef.outs)

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all regions in order, without absent regions."""
        return _gather(self, "blocks", self.opdef.regions)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes by their Python names, without those that have their default; discardable ones last."""
        found = (
            {}
            if isinstance(self, UnknownOp)
            else {
                f.attr: value
                for f in self.opdef.attrs
                if (value := getattr(self, f.attr)) is not None and value is not False and value != f.default_of(self)
            }
        )
        return {**found, **(self.extra or {})}

    def __str__(self) -> str:
        """Return the text; outer values have names that are local to it."""
        text: str = hooks.show(self)
        return text.rstrip("\n")

    def __repr__(self) -> str:
        symbol = getattr(self, "sym_name", None)
        if symbol is not None:
            return f"<{self.name} @{symbol}>"
        operands, results = (", ".join(v.type.text for v in values[:4]) for values in (self.operands, self.results))
        return f"<{self.name} ({operands}) -> ({results})>"

    def _repr_html_(self) -> str:
        """Return the text with colours, for a notebook."""
        return hooks.to_html(str(self))


def _gather(o: Op, name: str, fields: Sequence[Field]) -> list[Any]:
    """Give the class of an operation a property that lists the values of fields, and return those of the operation."""
    made = _gathered(fields)
    setattr(o.__class__, name, made)
    found: list[Any] = made.__get__(o)
    return found


def _gathered(fields: Sequence[Field]) -> property:
    """Make a property that lists the values of fields, flattening tuples and skipping absent ones."""
    if not fields:
        return property(lambda o: [])
    get = attrgetter(*(f.attr for f in fields))
    if len(fields) == 1:
        if fields[0].arity == "var":
            return property(lambda o: list(get(o)))
        return property(lambda o: [] if (value := get(o)) is None else [value])
    if all(f.arity != "var" for f in fields):
        return property(lambda o: [value for value in get(o) if value is not None])

    def flat(o: Op) -> list[Any]:
        out: list[Any] = []
        for value in get(o):
            if value.__class__ is tuple:
                out += value
            elif value is not None:
                out.append(value)
        return out

    return property(flat)


class Refused(TileError):
    """An operation makes something impossible; `related` lists other operations that contribute to it."""

    def __init__(self, o: Op, message: str, *related: tuple[Op, str], kind: ErrorKind = ErrorKind.UNSUPPORTED) -> None:
        super().__init__(message, kind=kind, notes=tuple(text for _, text in related))
        self.op, self.related = o, related


class UnknownOp(Op):
    """An operation of another dialect, kept if the parser allows unregistered operations."""

    __slots__ = ("_name", "args", "outs", "regions")

    def __init__(
        self, name: str, args: tuple[Value, ...] = (), outs: tuple[Value, ...] = (), regions: tuple[Block, ...] = ()
    ) -> None:
        self._name = name
        self.args, self.outs, self.regions = args, outs, regions
        self.loc, self.extra = None, None
        for value in outs:
            value.owner = self

    @property
    def name(self) -> str:
        return self._name

    @property
    def operands(self) -> list[Value]:
        return list(self.args)

    @property
    def results(self) -> list[Value]:
        return list(self.outs)

    @property
    def blocks(self) -> list[Block]:
        return list(self.regions)


def full_name(o: Op) -> str:
    """Return the name with its dialect, as NVIDIA's messages show it."""
    return o.name if isinstance(o, UnknownOp) else f"cuda_tile.{o.name}"


class Block:
    """A list of operations, with the arguments they can use."""

    __slots__ = ("args", "ops")
    args: list[Value]
    ops: list[Op]

    def __init__(self, args: list[Value] | None = None, ops: list[Op] | None = None) -> None:
        self.args = [] if args is None else args
        self.ops = [] if ops is None else ops
        for value in self.args:
            value.owner = self

    def __iter__(self) -> Iterator[Op]:
        """Iterate over the operations; those inside them are not included, see `walk`."""
        return iter(self.ops)

    def __repr__(self) -> str:
        ops = [o.name for o in self.ops[:4]] + ["..."] * (len(self.ops) > 4)
        args = f" with {len(self.args)} arguments" if self.args else ""
        return f"<block{args}: {', '.join(ops) or 'empty'}>"


def walk(root: Op | Block) -> Iterator[Op]:
    """Yield every operation inside `root`, and `root` itself if it is an Op, in textual order, at any nesting depth."""
    stack: list[Iterator[Op]] = [iter([root] if isinstance(root, Op) else root.ops)]
    while stack:
        for o in stack[-1]:
            yield o
            if o.nested and (blocks := o.blocks):
                stack += [iter(b.ops) for b in reversed(blocks)]
                break
        else:
            stack.pop()


def has_ops(root: Block, count: int) -> bool:
    """Return whether a block and the blocks inside have at least `count` operations."""
    todo = [root]
    while todo and count > 0:
        block = todo.pop()
        count -= len(block.ops)
        if count > 0:
            todo += [inner for o in block.ops if o.nested for inner in o.blocks]
    return count <= 0


def clone(root: Any, copies: dict[Value, Value] | None = None) -> Any:
    """Return a deep copy of an operation: new ops, blocks and values; types, attributes and outer values are shared.

    `copies` maps values to their replacements in the copy. The values that the copy defines are added to it.
    """
    copies = {} if copies is None else copies
    result = _copy_op(root, copies)
    # Map operands after everything inside exists, so that the order of definition does not matter.
    for o in walk(result):
        _map_operands(o, copies)
    return result


def _copy_op(root: Op, copies: dict[Value, Value]) -> Op:
    def shallow(o: Op) -> tuple[Op, list[tuple[Block, Block]]]:
        new = object.__new__(o.__class__)
        new.loc = o.loc
        new.extra = None if o.extra is None else dict(o.extra)
        pairs: list[tuple[Block, Block]] = []

        def block(old: Block) -> Block:
            fresh = Block([copy(v) for v in old.args])
            pairs.append((old, fresh))
            return fresh

        def copy(old: Value) -> Value:
            fresh = copies[old] = Value(old.type, new)
            return fresh

        if isinstance(o, UnknownOp):
            assert isinstance(new, UnknownOp)
            new._name, new.args = o._name, o.args
            new.outs = tuple(map(copy, o.outs))
            new.regions = tuple(map(block, o.regions))
            return new, pairs
        for f in o.opdef.fields:
            value = getattr(o, f.attr)
            if f.role == "out":
                value = tuple(map(copy, value)) if value.__class__ is tuple else copy(value)
            elif f.role == "region" and value is not None:
                value = block(value)
            setattr(new, f.attr, value)
        return new, pairs

    result, todo = shallow(root)
    while todo:
        old, new = todo.pop()
        for o in old.ops:
            copied, pairs = shallow(o)
            new.ops.append(copied)
            todo += pairs
    return result


def _map_operands(o: Op, copies: dict[Value, Value]) -> None:
    if isinstance(o, UnknownOp):
        o.args = tuple(copies.get(v, v) for v in o.args)
        return
    for f in o.opdef.operands:
        value = getattr(o, f.attr)
        if value.__class__ is tuple:
            setattr(o, f.attr, tuple(copies.get(v, v) for v in value))
        elif value is not None:
            setattr(o, f.attr, copies.get(value, value))


def difference(a: Op, b: Op) -> str | None:
    """Describe the first structural difference between two operations, or return None. Names and layout are ignored."""
    same: dict[Value, Value] = {}
    todo: list[tuple[Op, Op, str]] = [(a, b, a.name)]
    while todo:
        x, y, path = todo.pop()
        if x.__class__ is not y.__class__ or x.name != y.name:
            return f"{path}: {x.name} differs from {y.name}"
        if x.loc != y.loc:
            return f"{path}: locations differ: {x.loc} and {y.loc}"
        if (x.extra or {}) != (y.extra or {}):
            return f"{path}: discardable attributes differ: {x.extra} and {y.extra}"
        if not isinstance(x, UnknownOp):
            for f in x.opdef.attrs:
                if f.role != "state" and getattr(x, f.attr) != getattr(y, f.attr):
                    return f"{path}: '{f.name}' differs: {getattr(x, f.attr)} and {getattr(y, f.attr)}"
            for f in x.opdef.operands:
                v, w = getattr(x, f.attr), getattr(y, f.attr)
                if (v is None) != (w is None) or (isinstance(v, tuple) and len(v) != len(w)):
                    return f"{path}: operand '{f.name}' differs"
        if len(x.operands) != len(y.operands) or any(same.get(v, v) is not w for v, w in zip(x.operands, y.operands)):
            return f"{path}: operands differ"
        if (why := _pair(x.results, y.results, same)) is not None:
            return f"{path}: results: {why}"
        if [bool(r) for r in _region_slots(x)] != [bool(r) for r in _region_slots(y)]:
            return f"{path}: regions differ"
        for index, (p, q) in enumerate(zip(x.blocks, y.blocks)):
            if (why := _pair(p.args, q.args, same)) is not None:
                return f"{path}: arguments of region {index}: {why}"
            if len(p.ops) != len(q.ops):
                return f"{path}: region {index} has {len(p.ops)} operations and {len(q.ops)}"
            inner = [(o, w, f"{path}/{n}:{o.name}") for n, (o, w) in enumerate(zip(p.ops, q.ops))]
            todo += reversed(inner)
    return None


def _region_slots(o: Op) -> list[Block | None]:
    return list(o.blocks) if isinstance(o, UnknownOp) else [getattr(o, f.attr) for f in o.opdef.regions]


def _pair(old: list[Value], new: list[Value], same: dict[Value, Value]) -> str | None:
    if len(old) != len(new):
        return f"{len(old)} and {len(new)}"
    for v, w in zip(old, new):
        if v.type is not w.type:
            return f"{v.type} and {w.type}"
        same[v] = w
    return None


def equal(a: Op, b: Op) -> bool:
    """Return whether two operations are the same up to the identity of their values."""
    return difference(a, b) is None

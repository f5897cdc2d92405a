"""A problem as data: the arguments of its kernels, the cases to judge them on, and what its author declares."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from ..diag import ErrorKind, TileError, did_you_mean
from ..types import SCALARS, Scalar
from .expressions import evaluate

ROLES = ("in", "out", "inout", "scalar")
LAYOUTS = ("dense", "padded", "transposed", "offset")
KINDS = (
    "normal", "uniform", "zeros", "ones", "denormals", "inf", "nan", "huge", "cancel", "spike", "signs", "extremes",
)  # fmt: skip
"""The kinds of values that arguments may have; see `values`."""
UNSIGNED = {"u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64", "bool": "i1"}
"""Names of types that Tile IR has no type of its own for, and the type it uses."""
MOST_ELEMENTS = 1 << 28
MOST_CASES = 10_000


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the problem: an array, or a scalar."""

    name: str
    type: str
    role: str = "in"
    shape: tuple[int | str, ...] = ()
    value: int | float | str | None = None
    """The value of a scalar: a number, or an expression over sizes."""
    low: float | None = None
    high: float | str | None = None
    """The range of random values; kinds that leave it are replaced by `normal`."""
    unused: bool = False
    """Whether a correct kernel need not read it."""

    @property
    def is_array(self) -> bool:
        return self.role != "scalar"

    @property
    def is_read(self) -> bool:
        return self.role in ("in", "inout")

    @property
    def is_written(self) -> bool:
        return self.role in ("out", "inout")

    @property
    def element(self) -> Scalar:
        return element_named(self.type)


def element_named(name: str) -> Scalar:
    """Return the element type of a name such as `f32`, `u8` or `bool`."""
    return SCALARS[UNSIGNED.get(name, name)]


@dataclass(frozen=True, slots=True)
class Metamorphic:
    """A law: if inputs change this way, outputs do too. Either `permute` or `scale`."""

    permute: str = ""
    """The size along which all arrays that have it are permuted."""
    scale: Mapping[str, float] = field(default_factory=dict)
    """The power of two that each named argument is multiplied by; others keep their values."""

    @property
    def name(self) -> str:
        return f"permute {self.permute}" if self.permute else "scale " + ", ".join(self.scale)


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes, types and layout that a launch is compiled for."""

    sizes: Mapping[str, int]
    types: Mapping[str, str]
    layout: str = "dense"

    @property
    def name(self) -> str:
        parts = [f"{name}={value}" for name, value in self.sizes.items()]
        parts += [f"{name}:{kind}" for name, kind in self.types.items()]
        return ", ".join(parts + ([] if self.layout == "dense" else [self.layout]))


@dataclass(frozen=True, slots=True)
class Case:
    """One launch on data: a shape, a kind of values, and a seed."""

    shape: int
    """The index of the shape."""
    values: str
    seed: int


@dataclass(slots=True)
class Problem:
    """The arguments of candidates, and the cases they are judged on."""

    arguments: list[Argument]
    shapes: list[Shape]
    cases: list[Case]
    name: str = ""
    reference: str = ""
    """The file and function, or the kernel, that defines the results."""
    compute: str = ""
    """The float type of single operations; by default the widest float type of the arguments."""
    accumulate: str = ""
    """The float type of sums; by default f32, or f64 if an argument is."""
    laws: list[Metamorphic] = field(default_factory=list)
    folder: Path = field(default_factory=Path)

    def typed(self, shape: Shape) -> list[Argument]:
        """Return the arguments with the types of a shape."""
        return [_retyped(each, shape.types.get(each.name)) for each in self.arguments]

    def extents(self, argument: Argument, shape: Shape) -> tuple[int, ...]:
        """Return the shape of an array."""
        found = tuple(evaluate(each, shape.sizes) for each in argument.shape)
        if any(n < 1 for n in found) or prod(found) > MOST_ELEMENTS:
            raise TileError(f"'{argument.name}' of shape {found} is empty or too large, for {shape.name}")
        return found

    def scalar(self, argument: Argument, shape: Shape) -> int | float:
        """Return the value of a scalar."""
        value = argument.value
        if isinstance(value, str) or argument.element.is_int:
            return evaluate(value if isinstance(value, (int, str)) else 0, shape.sizes)
        return 0.0 if value is None else float(value)


def _retyped(argument: Argument, name: str | None) -> Argument:
    if name is None:
        return argument
    from dataclasses import replace

    return replace(argument, type=name)


# ---------------------------------------------------------------- from TOML


def read_problem(path: str | Path) -> Problem:
    """Read a cases file."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TileError(f"cannot read it: {error.strerror}", file=str(path), kind=ErrorKind.FILE) from None
    try:
        return parse_problem(data.decode("utf-8"), path.parent)
    except UnicodeDecodeError:
        raise TileError("this is not text: it is not UTF-8", file=str(path), kind=ErrorKind.SYNTAX) from None
    except TileError as error:
        error.file = error.file or str(path)
        raise


def parse_problem(text: str, folder: Path | None = None) -> Problem:
    """Return the problem that a text in TOML describes."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TileError(f"this is not TOML: {error}", kind=ErrorKind.SYNTAX) from None
    _known(table, "the file", "problem", "argument", "cases", "metamorphic")
    head = _table(table.get("problem", {}), "[problem]")
    _known(head, "[problem]", "name", "reference", "compute", "accumulate")
    arguments = [_argument(each) for each in _tables(table, "argument")]
    names = [each.name for each in arguments]
    if len(set(names)) < len(names):
        raise TileError("two arguments have the same name")
    if not any(each.is_written for each in arguments):
        raise TileError('no argument is an output: one needs role = "out" or "inout"')
    for key in ("compute", "accumulate"):
        if head.get(key) and not _is_float(head[key]):
            raise TileError(f"[problem]: '{key}' must be a float type, got {head[key]!r}")
    made = Problem(arguments, [], [], folder=folder or Path())
    for key, value in head.items():
        setattr(made, key, str(value))
    for group in _tables(table, "cases"):
        _add_cases(made, group)
    if not made.cases:
        raise TileError("there are no cases: add [[cases]] with sizes")
    made.laws = [_law(each, made) for each in _tables(table, "metamorphic", optional=True)]
    for shape in made.shapes:
        for argument in made.typed(shape):
            _check(made, argument, shape)
    return made


def _is_float(name: object) -> bool:
    return isinstance(name, str) and name in SCALARS and SCALARS[name].is_float


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TileError(f"{what}: expected a table, got {value!r:.60}")
    return value


def _tables(table: Mapping[str, Any], key: str, optional: bool = False) -> list[dict[str, Any]]:
    found = table.get(key, [])
    if not isinstance(found, list) or (not found and not optional):
        raise TileError(f"expected one or more [[{key}]]")
    return [_table(each, f"[[{key}]]") for each in found]


def _known(table: Mapping[str, Any], what: str, *names: str) -> None:
    for name in table:
        if name not in names:
            raise TileError(f"{what} has no key '{name}', expected {', '.join(names)}{did_you_mean(name, names)}")


def _argument(table: dict[str, Any]) -> Argument:
    _known(table, "[[argument]]", "name", "type", "role", "shape", "value", "low", "high", "unused")
    name, kind, role = table.get("name"), table.get("type", "f32"), table.get("role", "in")
    if not isinstance(name, str) or not name.isidentifier():
        raise TileError(f"[[argument]]: 'name' must be an identifier, got {name!r}")
    _type(kind, name)
    if role not in ROLES:
        raise TileError(f"argument '{name}': the role is {role!r}, expected {', '.join(ROLES)}")
    shape = table.get("shape", [])
    if not isinstance(shape, list) or any(not isinstance(n, (int, str)) for n in shape):
        raise TileError(f"argument '{name}': the shape must be a list of sizes")
    if role != "scalar" and not shape:
        raise TileError(f"argument '{name}': an array needs a shape")
    if role == "scalar" and not isinstance(table.get("value"), (int, float, str)):
        raise TileError(f"argument '{name}': a scalar needs a value: a number, or an expression over sizes")
    for key in ("low", "high"):
        if not isinstance(table.get(key, 0), (int, float, str)):
            raise TileError(f"argument '{name}': '{key}' must be a number")
    return Argument(
        name, kind, role, tuple(shape), table.get("value"), table.get("low"), table.get("high"),
        bool(table.get("unused", False)),
    )  # fmt: skip


def _type(name: object, argument: str) -> None:
    known = [*(each for each, scalar in SCALARS.items() if scalar.row.memory_bits >= 8 and each != "tf32"), *UNSIGNED]
    if name not in known:
        hint = did_you_mean(str(name), known)
        raise TileError(f"argument '{argument}': unknown type {name!r}, expected one of {', '.join(known)}{hint}")


def _add_cases(problem: Problem, table: dict[str, Any]) -> None:
    _known(table, "[[cases]]", "sizes", "types", "layouts", "values", "seeds")
    sizes = table.get("sizes")
    if not isinstance(sizes, list) or not sizes:
        raise TileError("[[cases]]: 'sizes' must be a list of tables such as { M = 1, N = 127 }")
    types = table.get("types", [{}])
    layouts, values = table.get("layouts", ["dense"]), table.get("values", ["normal"])
    seeds = table.get("seeds", 1)
    for what, given, known in (("layouts", layouts, LAYOUTS), ("values", values, KINDS)):
        if not isinstance(given, list) or not given or any(each not in known for each in given):
            raise TileError(f"[[cases]]: '{what}' must be a list of {', '.join(known)}; got {given!r:.80}")
    if not isinstance(seeds, int) or not 1 <= seeds <= 1000:
        raise TileError(f"[[cases]]: 'seeds' must be a number from 1 to 1000, got {seeds!r}")
    for shape in _shapes(sizes, types, layouts):
        if shape not in problem.shapes:
            problem.shapes.append(shape)
        index = problem.shapes.index(shape)
        problem.cases += [Case(index, kind, seed) for kind in values for seed in range(seeds)]
        if len(problem.cases) > MOST_CASES:
            raise TileError(f"more than {MOST_CASES} cases")


def _shapes(sizes: list[Any], types: Any, layouts: list[str]) -> Iterator[Shape]:
    if not isinstance(types, list):
        raise TileError("[[cases]]: 'types' must be a list of tables such as { x = \"f16\" }")
    for size in sizes:
        for name, value in _table(size, "sizes").items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise TileError(f"[[cases]]: the size {name} must be a number, got {value!r}")
        for kinds in types or [{}]:
            for argument, kind in _table(kinds, "types").items():
                _type(kind, argument)
            for layout in layouts:
                yield Shape(size, kinds, layout)


def _law(table: dict[str, Any], problem: Problem) -> Metamorphic:
    from math import frexp

    _known(table, "[[metamorphic]]", "permute", "scale")
    permute, scale = table.get("permute", ""), table.get("scale", {})
    if bool(permute) == bool(scale) or not isinstance(permute, str) or not isinstance(scale, dict):
        raise TileError('[[metamorphic]]: expected either permute = "SIZE" or scale = { x = 2.0, y = 2.0 }')
    names = [each.name for each in problem.arguments if each.is_array]
    for name, factor in scale.items():
        if name not in names:
            raise TileError(f"[[metamorphic]]: there is no array '{name}'{did_you_mean(name, names)}")
        if not isinstance(factor, (int, float)) or abs(frexp(factor)[0]) != 0.5:
            raise TileError(f"[[metamorphic]]: the factor of '{name}' must be a power of two, got {factor!r}")
    if permute and not any(permute in each.shape for each in problem.arguments):
        raise TileError(f"[[metamorphic]]: no array has the size '{permute}'")
    return Metamorphic(permute, scale)


def _check(problem: Problem, argument: Argument, shape: Shape) -> None:
    """Refuse arguments that cannot be made for a shape."""
    for name in shape.types:
        if name not in [each.name for each in problem.arguments]:
            raise TileError(f"[[cases]]: there is no argument '{name}'")
    if argument.is_array:
        problem.extents(argument, shape)
    else:
        problem.scalar(argument, shape)

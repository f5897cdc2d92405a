"""Debug information: scopes and locations."""

from __future__ import annotations

from collections.abc import Iterator

from ..checking import TYPE_CHECKING
from ..declare.fastclass import dataclass, fields
from ..types.basic import InternPool
from .values import Attr

if TYPE_CHECKING:
    from typing import Any


NODES = InternPool()
_REFS = NODES.refs


class _Interned(type):
    """Interns nodes: chains of call sites share so much that comparing them as trees would take forever."""

    def __call__(cls, *args: object, **kwargs: object) -> object:
        key: tuple[object, ...] = (cls, *args)
        if not kwargs and (known := _REFS.get(key)) is not None and (node := known()) is not None:
            return node
        made = super().__call__(*args, **kwargs)
        if kwargs or len(args) != len(fields(cls)):
            key = (cls, *made.parts())
        kept: object = NODES.keep(key, made)
        return kept


class DebugAttr(Attr, metaclass=_Interned):
    """Base of debug information. Equal nodes are the same object; compare with `is`."""

    __slots__ = ("__weakref__",)

    def parts(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in fields(self))

    def __repr__(self) -> str:
        name = getattr(self, "name", None)
        return f"<{type(self).__name__}{f' {name!r}' if isinstance(name, str) else ''}>"

    def __copy__(self) -> DebugAttr:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> DebugAttr:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.parts()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DIFile(DebugAttr):
    """A source file."""

    name: str
    directory: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DICompileUnit(DebugAttr):
    """A compilation unit."""

    file: DIFile


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DISubprogram(DebugAttr):
    """A function of the source."""

    file: DIFile
    line: int
    name: str
    linkageName: str
    compileUnit: DICompileUnit
    scopeLine: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DILexicalBlock(DebugAttr):
    """A block inside a function of the source."""

    scope: DISubprogram | DILexicalBlock
    file: DIFile
    line: int
    column: int = 0


class Loc(DebugAttr):
    """Base of locations; an unknown location is None."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from .. import markup

        return markup.code(repr(self))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FileLineCol(Loc):
    """A position in a file. Without a scope, bytecode records it as unknown, as NVIDIA's writer does."""

    filename: str
    line: int
    column: int

    def __repr__(self) -> str:
        return _position(self)


def _position(place: FileLineCol | DILoc) -> str:
    """Return `file:line:column`; a name that would control a terminal is quoted."""
    name = place.filename if place.filename.isprintable() else ascii(place.filename)
    return f"{name}:{place.line}:{place.column}"


class _Flat(_Interned):
    def __call__(cls, *args: Any, **kwargs: Any) -> object:
        return _located(*args, **kwargs)


def _located(source: FileLineCol, scope: object) -> DILoc:
    return place_in_scope(scope, source.filename, source.line, source.column)


class DILoc(Loc, metaclass=_Flat):
    """A position in a source file, within a scope."""

    # Flat, as in bytecode, and made with one call less: there is one for every few operations.
    __slots__ = ("column", "filename", "line", "scope")
    __match_args__ = ("source", "scope")
    _specs = dict.fromkeys(__match_args__)
    filename: str
    line: int
    column: int
    scope: DISubprogram | DILexicalBlock

    if TYPE_CHECKING:

        def __init__(self, source: FileLineCol, scope: DISubprogram | DILexicalBlock) -> None: ...

    @property
    def source(self) -> FileLineCol:
        return FileLineCol(self.filename, self.line, self.column)

    def __repr__(self) -> str:
        return _position(self)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"DILoc cannot be changed: '{name}'")


def place_in_scope(scope: object, filename: str, line: int, column: int) -> DILoc:
    """Return `DILoc(FileLineCol(filename, line, column), scope)`, faster."""
    key = (DILoc, scope, filename, line, column)
    if (known := _REFS.get(key)) is not None and (node := known()) is not None:
        return node  # type: ignore[no-any-return]  # keyed by this class
    made: DILoc = object.__new__(DILoc)
    put = object.__setattr__
    put(made, "scope", scope)
    put(made, "filename", filename)
    put(made, "line", line)
    put(made, "column", column)
    return NODES.keep(key, made)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallSite(Loc):
    """A position reached by inlining: where the callee's code is, and where it was called."""

    callee: Loc | None
    caller: Loc | None

    def __repr__(self) -> str:
        inner: Loc | None = self
        while isinstance(inner, CallSite):
            inner = inner.callee
        return f"<{'an unknown place' if inner is None else inner!r}, inlined>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NameLoc(Loc):
    """A named location. Text only."""

    name: str
    child: Loc | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FusedLoc(Loc):
    """Several locations in one. Text only."""

    locations: tuple[Loc | None, ...]
    metadata: Attr | None = None


LocalScope = DISubprogram | DILexicalBlock


def enclosing(scope: LocalScope) -> Iterator[LocalScope]:
    """Yield a scope and its enclosing scopes, innermost first."""
    while isinstance(scope, DILexicalBlock):
        yield scope
        scope = scope.scope
    yield scope

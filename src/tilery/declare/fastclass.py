"""The part of `dataclasses` that tilery uses; declaring a class takes a tenth of the time.

A command on a small file spends most of its time on declarations, so methods are shared, and a constructor is compiled
when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from ..checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeVar
    from typing import dataclass_transform as dataclass_transform

    Made = TypeVar("Made")
else:

    def dataclass_transform(**_: object) -> Callable[[Made], Made]:
        """Mark a decorator for type checkers, which is all that the one in `typing` does."""
        return lambda decorator: decorator


MISSING: Any = object()


class Spec:
    """The options of a field."""

    __slots__ = ("compare", "default", "factory")

    def __init__(self, default: Any, factory: Callable[[], Any] | None, compare: bool) -> None:
        self.default, self.factory, self.compare = default, factory, compare


def field(*, default: Any = MISSING, default_factory: Callable[[], Any] | None = None, compare: bool = True) -> Any:
    """Declare a field whose default is made for each object, or that equality ignores."""
    return Spec(default, default_factory, compare)


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True
) -> Callable[[type[Made]], type[Made]]:
    """Make the annotations of a class its fields; the options are those of `dataclasses`."""

    def decorate(cls: Any) -> Any:
        own = tuple(cls.__annotations__)
        specs: dict[str, Spec] = {**getattr(cls, "_specs", {})}
        for name in own:
            given = cls.__dict__.get(name, MISSING)
            specs[name] = given if isinstance(given, Spec) else Spec(given, None, True)
        body: dict[str, Any] = {"_specs": specs, "_frozen": frozen, "__match_args__": tuple(specs)}
        body["__init__"] = _first_init
        if repr:
            body["__repr__"] = _repr
        if frozen:
            body |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if frozen and slots:
            body |= {"__getstate__": _getstate, "__setstate__": _setstate}
        if eq:
            body["_content"] = _content([name for name, spec in specs.items() if spec.compare])
            body |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
        for name, value in cls.__dict__.items():
            if name not in ("__dict__", "__weakref__") and not (slots and name in own):
                body[name] = value.default if isinstance(value, Spec) else value
        if slots:
            body["__slots__"] = own
        return type(cls)(cls.__name__, cls.__bases__, body)

    return decorate


def fields(cls: Any) -> tuple[str, ...]:
    """Return the names of the fields of a class."""
    return tuple(cls._specs)


def replace(o: Made, **changes: Any) -> Made:
    """Return a copy with some fields changed."""
    return o.__class__(**{name: getattr(o, name) for name in fields(o)} | changes)


def _content(names: list[str]) -> Any:
    get = attrgetter(*names) if names else lambda o: ()
    return staticmethod(get)


# ---------------------------------------------------------------- shared methods


def _first_init(self: Any, *args: Any, **kwargs: Any) -> None:
    """Compile the constructor of a class when the first object is made: a command makes objects of few classes."""
    cls: Any = next(c for c in type(self).__mro__ if c.__dict__.get("__init__") is _first_init)
    made = cls.__init__ = _constructor(cls)
    made(self, *args, **kwargs)


def _constructor(cls: Any) -> Callable[..., None]:
    params, lines = [], []
    env: dict[str, Any] = {"MISSING": MISSING, "put": object.__setattr__}
    for name, spec in cls._specs.items():
        value = name
        if spec.factory is not None:
            env[f"make_{name}"] = spec.factory
            value = f"make_{name}() if {name} is MISSING else {name}"
            params.append(f"{name}=MISSING")
        elif spec.default is not MISSING:
            env[f"default_{name}"] = spec.default
            params.append(f"{name}=default_{name}")
        else:
            params.append(name)
        lines.append(f"put(self, {name!r}, {value})" if cls._frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    source = f"def __init__(self, {', '.join(params)}):\n    " + "\n    ".join(lines or ["pass"])
    exec(compile(source, f"<constructor of {cls.__name__}>", "exec"), env)
    made: Callable[..., None] = env["__init__"]
    made.__qualname__ = f"{cls.__name__}.__init__"
    return made


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._content(self) == self._content(other)


def _hash(self: Any) -> int:
    return hash(self._content(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._specs)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    raise AttributeError(f"{self.__class__.__name__} cannot be changed: '{name}'")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self._specs]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self._specs, state):
        object.__setattr__(self, name, value)

"""Operations as methods of the builder, by their mnemonics. `operations.pyi` has their types, for editors and mypy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .calls import find, methods, signature


class Operations:
    """Every operation is a method, made from its declaration when it is first used."""

    def op(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Build the operation with a mnemonic; a subclass inserts it."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        opdef = find(name)

        def build(*args: Any, **kwargs: Any) -> Any:
            return self.op(opdef.mnemonic, *args, **kwargs)

        build.__name__, build.__doc__ = name, opdef.cls.__doc__
        build.__signature__ = signature(opdef)  # type: ignore[attr-defined]  # `inspect` reads it
        return build

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *methods()})

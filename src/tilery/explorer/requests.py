"""Checked access to the fields of a request: each has a type and a limit, and a wrong one is a TileError."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from typing import Any

from ..diag import TileError, did_you_mean

MAX_TEXT = 16 << 20
"""The most characters of a text in a request."""
MAX_ITEMS = 1000


class Request:
    """The fields of a request."""

    def __init__(self, fields: Any) -> None:
        if not isinstance(fields, Mapping):
            raise TileError("a request must be a JSON object")
        self.fields: Mapping[str, Any] = fields

    def has(self, name: str) -> bool:
        return self.fields.get(name) is not None

    def text(self, name: str, default: str | None = None, limit: int = MAX_TEXT) -> str:
        """Return a string.

        >>> Request({"text": "return"}).text("text")
        'return'
        """
        value = self._value(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, "a string")
        if len(value) > limit:
            raise TileError(f"'{name}' has {len(value)} characters, the limit is {limit}")
        return value

    def integer(self, name: str, default: int | None = None, *, low: int = 0, high: int = 1 << 53) -> int:
        value = self._value(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self._wrong(name, f"an integer from {low} to {high}")
        return value

    def integers(self, name: str, default: Sequence[int] | None = None, *, limit: int = MAX_ITEMS) -> list[int]:
        value = self._list(name, default, limit)
        if not all(isinstance(item, int) and not isinstance(item, bool) for item in value):
            raise self._wrong(name, "a list of integers")
        return value

    def texts(self, name: str, default: Sequence[str] | None = None, *, limit: int = MAX_ITEMS) -> list[str]:
        value = self._list(name, default, limit)
        if not all(isinstance(item, str) and len(item) <= MAX_TEXT for item in value):
            raise self._wrong(name, "a list of strings")
        return value

    def choice(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        value = self.text(name, default, limit=1000)
        if value not in known:
            raise TileError(f"'{name}' must be one of {', '.join(known)}, got {value!r}{did_you_mean(value, known)}")
        return value

    def data(self, name: str) -> bytes:
        """Return bytes, which a request has in base64."""
        try:
            return b64decode(self.text(name, limit=2 * MAX_TEXT), validate=True)
        except (Base64Error, ValueError):
            raise self._wrong(name, "base64") from None

    def _list(self, name: str, default: Sequence[Any] | None, limit: int) -> list[Any]:
        value = self._value(name, default)
        if not isinstance(value, (list, tuple)):
            raise self._wrong(name, "a list")
        if len(value) > limit:
            raise TileError(f"'{name}' has {len(value)} items, the limit is {limit}")
        return list(value)

    def _value(self, name: str, default: Any) -> Any:
        value = self.fields.get(name)
        if value is None and default is None:
            raise TileError(f"the request has no '{name}'")
        return default if value is None else value

    def _wrong(self, name: str, expected: str) -> TileError:
        return TileError(f"'{name}' must be {expected}, got {type(self.fields.get(name)).__name__}")

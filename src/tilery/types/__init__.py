"""The types of Tile IR. They are interned: equal types are the same object, and `.text` is their spelling."""

from __future__ import annotations

from .. import hooks
from ..enums import PaddingValue, PtrAttr
from .basic import (
    BF16,
    F16,
    F32,
    F64,
    FLOATS,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    MAX_FUNCTION_TEXT,
    MAX_TILE_ELEMENTS,
    NUMBERS,
    SCALARS,
    STRING,
    TF32,
    TOKEN,
    Foreign,
    Function,
    Ptr,
    Scalar,
    String,
    Tile,
    Token,
    Type,
    full_text,
    quoted,
    quoted_list,
)
from .views import DYNAMIC, GatherScatterView, PartitionView, StridedView, TensorView, TileView

__all__ = [
    "BF16", "DYNAMIC", "F16", "F32", "F64", "FLOATS", "I1", "I4", "I8", "I16", "I32", "I64", "MAX_FUNCTION_TEXT",
    "MAX_TILE_ELEMENTS", "NUMBERS", "SCALARS", "STRING", "TF32", "TOKEN", "Foreign", "Function", "GatherScatterView",
    "PaddingValue", "PartitionView", "Ptr", "PtrAttr", "Scalar", "StridedView", "String", "TensorView", "Tile",
    "TileView", "Token", "Type", "full_text", "parse", "quoted",
    "quoted_list",
]  # fmt: skip


def parse(text: str) -> Type:
    """Return the type that a text spells; raise TileError with the position if it spells none.

    >>> parse("tile<64x64xf32>"), parse("tile<64x64xf32>") is Tile((64, 64), F32)
    (tile<64x64xf32>, True)
    """
    found: Type = hooks.parse_type(text)
    return found

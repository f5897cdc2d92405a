"""Promises of public documents about CUDA Tile IR that no tool keeps: their record layout, spellings and names.

None of it is detected: callers ask for it. `docs/appendix/documents.md` lists where the documents and the tools differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .attributes import AssumePredicate, CheckedDivBy, StringElements, decode_attr, encode_attr
from .cute import CuteAttr, parse_cute
from .dictionaries import (
    decode_debug,
    decode_dict,
    decode_hints,
    decode_segments,
    decode_shape,
    encode_debug,
    encode_dict,
    encode_hints,
    encode_segments,
    encode_shape,
)
from .enums import Width, decode_enum, encode_enum
from .names import constant_name, dense_log
from .operations import decode_op, dictionary, encode_op
from .packing import Packed, pack, unpack
from .records import dump_records
from .tables import Tables, check_version
from .typecodec import decode_type, encode_type
from .verifying import DocumentedBounds, same_value, verify

if TYPE_CHECKING:
    from ..ops import Module


def parse(text: str, *, file: str = "", allow_unregistered: bool = False, verify: bool = True) -> Module:
    """Read a module from text as the documents write it; real text is read, too."""
    from .parsing import parse as parse_text

    return parse_text(text, file=file, allow_unregistered=allow_unregistered, verify=verify)


__all__ = [
    "AssumePredicate",
    "CheckedDivBy",
    "CuteAttr",
    "DocumentedBounds",
    "Packed",
    "StringElements",
    "Tables",
    "Width",
    "check_version",
    "constant_name",
    "decode_attr",
    "decode_debug",
    "decode_dict",
    "decode_enum",
    "decode_hints",
    "decode_op",
    "decode_segments",
    "decode_shape",
    "decode_type",
    "dense_log",
    "dictionary",
    "dump_records",
    "encode_attr",
    "encode_debug",
    "encode_dict",
    "encode_enum",
    "encode_hints",
    "encode_op",
    "encode_segments",
    "encode_shape",
    "encode_type",
    "pack",
    "parse",
    "parse_cute",
    "same_value",
    "unpack",
    "verify",
]

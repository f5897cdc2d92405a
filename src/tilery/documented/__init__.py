"""What public documents about CUDA Tile IR promise and no tool does: their record layout, spellings and names.

Nothing here is looked for by itself; whoever has such data or text asks for it. `docs/documents.md` says where the
documents and the tools differ.
"""

from __future__ import annotations

from .attributes import AssumePredicate, CheckedDivBy, StringElements, decode_attr, encode_attr
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
from .operations import decode_op, dictionary, encode_op
from .records import dump_records
from .tables import Tables, check_version
from .typecodec import decode_type, encode_type

__all__ = [
    "AssumePredicate",
    "CheckedDivBy",
    "StringElements",
    "Tables",
    "Width",
    "check_version",
    "decode_attr",
    "decode_debug",
    "decode_dict",
    "decode_enum",
    "decode_hints",
    "decode_op",
    "decode_segments",
    "decode_shape",
    "decode_type",
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
]

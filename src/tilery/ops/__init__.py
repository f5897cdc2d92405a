"""All operations, one file per chapter of the specification. Importing this package fills the registry."""

from __future__ import annotations

from ..declare.operation import BY_OPCODE, OpDef
from .atomics import AtomicCASTko, AtomicRedViewTko, AtomicRMWTko
from .bitwise import AndI, OrI, XOrI
from .control import Assert, Break, Continue, For, If, Loop, Return, Yield
from .conversion import Bitcast, ExtI, FToF, FToI, IntToPtr, IToF, PtrToInt, PtrToPtr, TruncI
from .core import (
    Broadcast,
    Cat,
    Constant,
    Entry,
    Extract,
    GetGlobal,
    GetNumTileBlocks,
    GetTileBlockId,
    Global,
    Insert,
    Iota,
    Module,
    Offset,
    Pack,
    Permute,
    Reduce,
    Reshape,
    Scan,
    Select,
    Unpack,
)
from .floating import (
    AbsF,
    AddF,
    Atan2,
    Ceil,
    CmpF,
    Cos,
    CosH,
    DivF,
    Exp,
    Exp2,
    Floor,
    Fma,
    FPowF,
    FPowI,
    Log,
    Log2,
    MaxF,
    MinF,
    MmaF,
    MmaFScaled,
    MulF,
    NegF,
    RemF,
    Rsqrt,
    Sin,
    SinH,
    Sqrt,
    SubF,
    Tan,
    TanH,
)
from .integer import AbsI, AddI, CmpI, DivI, MaxI, MinI, MmaI, MulhiI, MulI, NegI, RemI, ShLI, ShRI, SubI
from .memory import (
    Alloca,
    GdcLaunchDependentsTko,
    GdcWaitTko,
    JoinTokens,
    LoadPtrTko,
    MakeToken,
    MemoryFenceAliasTko,
    StorePtrTko,
)
from .misc import Assume, PrintTko
from .testing import TestFunc
from .views import (
    GetIndexSpaceShape,
    GetTensorShape,
    LoadViewTko,
    MakeGatherScatterView,
    MakePartitionView,
    MakeStridedView,
    MakeTensorView,
    StoreViewTko,
)

__all__ = [
    "AbsF", "AbsI", "AddF", "AddI", "Alloca", "AndI", "Assert", "Assume", "Atan2", "AtomicCASTko", "AtomicRMWTko",
    "AtomicRedViewTko", "Bitcast", "Break", "Broadcast", "Cat", "Ceil", "CmpF", "CmpI", "Constant", "Continue", "Cos",
    "CosH", "DivF", "DivI", "Entry", "Exp", "Exp2", "ExtI", "Extract", "FPowF", "FPowI", "FToF", "FToI", "Floor", "Fma",
    "For", "GdcLaunchDependentsTko", "GdcWaitTko", "GetGlobal", "GetIndexSpaceShape", "GetNumTileBlocks",
    "GetTensorShape", "GetTileBlockId", "Global", "IToF", "If", "Insert", "IntToPtr", "Iota", "JoinTokens",
    "LoadPtrTko", "LoadViewTko", "Log", "Log2", "Loop", "MakeGatherScatterView", "MakePartitionView",
    "MakeStridedView", "MakeTensorView", "MakeToken", "MaxF", "MaxI", "MemoryFenceAliasTko", "MinF", "MinI", "MmaF",
    "MmaFScaled", "MmaI", "Module", "MulF", "MulI", "MulhiI", "NegF", "NegI", "Offset", "OrI", "Pack", "Permute",
    "PrintTko", "PtrToInt", "PtrToPtr", "Reduce", "RemF", "RemI", "Reshape", "Return", "Rsqrt", "Scan", "Select",
    "ShLI", "ShRI", "Sin", "SinH", "Sqrt", "StorePtrTko", "StoreViewTko", "SubF", "SubI", "Tan", "TanH", "TestFunc",
    "TruncI", "Unpack", "XOrI", "Yield",
]


def registered(*, testing: bool = False) -> list[OpDef]:
    """List all operations by mnemonic; the test-only ones only if `testing`."""
    return sorted((d for d in BY_OPCODE.values() if testing or not d.testing), key=lambda d: d.mnemonic)

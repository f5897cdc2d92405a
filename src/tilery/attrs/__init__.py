"""Attribute values: enums, numbers by their bits, dense constants, assume predicates, hints and debug information."""

from __future__ import annotations

from ..enums import (
    AtomicRMWMode,
    ComparisonOrdering,
    ComparisonPredicate,
    IntegerOverflow,
    MemoryOrderingSemantics,
    MemoryScope,
    RoundingMode,
    Signedness,
    SymbolVisibility,
    TileEnum,
)
from .debug import (
    CallSite,
    DebugAttr,
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILoc,
    DISubprogram,
    FileLineCol,
    FusedLoc,
    Loc,
    LocalScope,
    NameLoc,
    enclosing,
    place_in_scope,
)
from .values import (
    ArrayAttr,
    Attr,
    Bounded,
    Dense,
    DenseArray,
    DenseStrings,
    DictAttr,
    DivBy,
    FloatAttr,
    IntAttr,
    OpaqueAttr,
    OptimizationHints,
    Predicate,
    SameElements,
    StrAttr,
    SymbolRef,
    TypeAttr,
    UnitAttr,
    dense_problem,
)

__all__ = [
    "ArrayAttr", "AtomicRMWMode", "Attr", "Bounded", "CallSite", "ComparisonOrdering", "ComparisonPredicate",
    "DICompileUnit", "DIFile", "DILexicalBlock", "DILoc", "DISubprogram", "DebugAttr", "Dense", "DenseArray",
    "DenseStrings", "DictAttr", "DivBy", "FileLineCol", "FloatAttr", "FusedLoc", "IntAttr", "IntegerOverflow",
    "Loc", "LocalScope", "MemoryOrderingSemantics", "MemoryScope", "NameLoc", "OpaqueAttr", "OptimizationHints",
    "Predicate", "RoundingMode", "SameElements", "Signedness", "StrAttr", "SymbolRef", "SymbolVisibility",
    "TileEnum", "TypeAttr", "UnitAttr", "dense_problem", "enclosing", "place_in_scope",
]  # fmt: skip

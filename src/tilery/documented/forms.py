"""The formats of token-ordered operations as documents write them, for the printer and the parser."""

from __future__ import annotations

from ..ir import Op
from ..ops import AtomicRMWTko, LoadViewTko, StoreViewTko

MEMORY = "keyword($memory_ordering_semantics) (keyword($memory_scope)^)?"
TOKEN = "(`token` `` `=` `` $token^)?"
REST = f"{TOKEN} (`optimization_hints` `=` $optimization_hints^)? inbounds($inbounds) attr-dict-with-keyword"

FORMATS: dict[type[Op], str] = {
    LoadViewTko: f"{MEMORY} $view `[` $index `]` {REST} `:` type($view) `->` type($tile) `,` type($result_token)",
    StoreViewTko: f"{MEMORY} $view `[` $index `]` `,` $tile {REST} `:` type($view) `,` type($tile) "
    "`->` type($result_token)",
    AtomicRMWTko: "keyword($memory_ordering_semantics) keyword($memory_scope) keyword($mode) $pointers `,` $arg "
    f"(`,` $mask^)? {TOKEN} attr-dict `:` type($pointers) `,` type($arg) (`,` type($mask)^)? "
    "`->` type($result) `,` type($result_token)",
}

"""`rename-symbol`: the name, its uses, and debug information."""

from __future__ import annotations

import pytest

import tilery
from tilery import Module, TileError
from tilery.attrs import DILoc, DISubprogram

TEXT = """
#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#sub = #cuda_tile.di_subprogram<file = #file, line = 1, name = "add", linkageName = "add", compileUnit = #unit>
#block = #cuda_tile.di_lexical_block<scope = #sub, file = #file, line = 2>
#here = #cuda_tile.di_loc<loc("/src/k.py":1:1) in #sub>
#inner = #cuda_tile.di_loc<loc("/src/k.py":2:3) in #block>
cuda_tile.module @kernels {
  global @table <i32: 7> : tile<1xi32>
  entry @add() {
    %0 = get_global @table : tile<ptr<i32>> loc(#inner)
    return loc(callsite(#inner at #here))
  } loc(#here)
  entry @other() { return }
}
"""


def renamed(options: str) -> Module:
    return tilery.optimize(tilery.parse(TEXT), f"rename-symbol{{{options}}}")


def test_debug_information_follows() -> None:
    module = renamed("symbol-to-rename=kernels::add new-name=add_f32")
    entry = module.entries[0]
    assert entry.sym_name == "add_f32"
    assert isinstance(entry.loc, DILoc) and isinstance(entry.loc.scope, DISubprogram)
    assert (entry.loc.scope.name, entry.loc.scope.linkageName) == ("add", "add_f32")
    text = tilery.show(module, locs=True)
    assert text.count("di_subprogram<") == 1, "every location has the new subprogram"


def test_uses_follow() -> None:
    module = renamed("symbol-to-rename=table new-name=lookup")
    assert "get_global @lookup" in tilery.show(module)


@pytest.mark.parametrize(
    "options, message",
    [
        ("symbol-to-rename=nothing new-name=x", "could not find symbol op with name '@nothing'"),
        ("symbol-to-rename=other::add new-name=x", "could not find symbol op with name '@other::@add'"),
        ("symbol-to-rename=add new-name=other", "there is already a symbol named 'other'"),
        ("symbol-to-rename=add", "option 'new-name' is missing"),
        ("symbol-to-rename=add new-name=x scope=other", "did not enclose the symbol itself"),
        ("symbol-to-rename=table new-name=x update-uses=false", "does not reference a valid global"),
    ],
)
def test_what_cannot_be_done_is_refused(options: str, message: str) -> None:
    with pytest.raises(TileError, match=message):
        renamed(options)

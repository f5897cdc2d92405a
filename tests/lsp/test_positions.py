"""Positions as editors count them, in each encoding of the protocol."""

from __future__ import annotations

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls")

from lsprotocol import types as lsp  # only where it is installed
from pygls.workspace import Workspace

from tilery.lsp.diagnostics import diagnostics
from tilery.lsp.document import UnitLines
from tilery.lsp.server import TileServer

URI = "file:///kernel.mlir"
TEXT = (
    "// \U0001d11e \xe9 \u2028 \f \x85 end\nentry @k() {\n"
    '  print_tko "\U0001d11e\xe9", %u : tile<f32> -> token\n  return\n}\n'
)
UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def position(text: str, offset: int, encoding: str) -> lsp.Position:
    codec, size = UNITS[encoding]
    before = text[:offset].split("\n")
    return lsp.Position(len(before) - 1, len(before[-1].encode(codec)) // size)


@pytest.mark.parametrize("encoding", UNITS)
def test_offsets_and_positions(encoding: str) -> None:
    lines = UnitLines(TEXT, encoding)
    for offset in range(len(TEXT) + 1):
        assert lines.position(offset) == position(TEXT, offset, encoding)
        assert lines.offset(lines.position(offset)) == offset
    assert lines.rows() == TEXT.split("\n")
    assert UnitLines("a\r\nb\rc").rows() == ["a", "b", "c"]


@pytest.mark.parametrize("text", [TEXT, TEXT.encode("ascii", "ignore").decode()])
def test_a_position_after_the_end_of_a_line_is_its_end(text: str) -> None:
    lines = UnitLines(text)
    assert lines.offset(lsp.Position(1, 999)) == text.index("\n", text.index("entry"))
    assert lines.offset(lsp.Position(99, 0)) == len(text)


@pytest.mark.parametrize("encoding", UNITS)
def test_changes_and_diagnostics(encoding: str) -> None:
    server = TileServer()
    server.protocol._workspace = Workspace("", position_encoding=encoding)
    server.open(lsp.TextDocumentItem(URI, "tileir", 1, TEXT))
    at = TEXT.index("return")
    place = lsp.Range(position(TEXT, at, encoding), position(TEXT, at + 6, encoding))
    changes = [
        lsp.TextDocumentContentChangePartial(place, "retrun"),
        lsp.TextDocumentContentChangePartial(lsp.Range(place.start, place.start), "// \xe9\n  "),
    ]
    server.change(lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, URI), changes))
    document = server.document(URI)
    text = TEXT.replace("return", "// \xe9\n  retrun")
    assert (document.text, document.version) == (text, 2)
    found = [(d.range.start, d.message.split("\n")[0]) for d in diagnostics(document)]
    assert (position(text, text.index("%u"), encoding), "use of undeclared SSA value name") in found
    assert any(at == position(text, text.index("retrun"), encoding) and "retrun" in message for at, message in found)

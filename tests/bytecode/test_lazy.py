"""Reading function by function: one that cannot be read does not hide the others."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilery
from tilery import TileError
from tilery.cli.main import main

TEXT = """global @g <f32: [1.0]> : tile<1xf32>
entry @a(%n: tile<i32>) {
  %x = addi %n, %n : tile<i32>
  return
}
entry @b() {
  %t = make_token : token
  return
}
entry @c() {
  return
}
"""


@pytest.fixture
def broken() -> bytes:
    """A file whose second function has an opcode that does not exist."""
    module = tilery.parse(TEXT)
    data = bytearray(tilery.dumps(module, "13.1"))
    at = data.index(bytes([0x44]), data.index(b"\x5c"))  # make_token, after the first return
    data[at] = 0x19
    return bytes(data)


def test_functions_are_decoded_when_they_are_asked_for(broken: bytes) -> None:
    with pytest.raises(TileError, match="unknown or unimplemented opcode: 25"):
        tilery.load(broken)
    lazy = tilery.load(broken, lazy=True)
    assert list(lazy) == ["a", "b", "c"] and len(lazy) == 3
    assert [g.sym_name for g in lazy.globals] == ["g"] and str(lazy.version) == "13.1"
    assert str(lazy.signature("b")) == "() -> ()" and len(lazy.signature("a").params) == 1
    assert lazy["a"] is lazy["a"] and [o.name for o in lazy["a"].body.ops] == ["addi", "return"]
    for _ in range(2):
        with pytest.raises(TileError, match="unknown or unimplemented opcode: 25"):
            lazy["b"]
    with pytest.raises(KeyError):
        lazy["d"]
    module, errors = lazy.module()
    assert [e.sym_name for e in module.entries] == ["a", "c"] and list(errors) == ["b"]
    assert tilery.verify(module) == []


def test_a_whole_file_is_the_same_module() -> None:
    data = tilery.dumps(tilery.parse(TEXT))
    module, errors = tilery.load(data, lazy=True).module()
    assert not errors and tilery.difference(module, tilery.load(data)) is None


def test_a_file_without_functions_to_read_is_refused() -> None:
    with pytest.raises(TileError):
        tilery.load(b"\x7fTileIR\x00\x0d\x01\x00\x00\x00", lazy=True)


@pytest.mark.parametrize("command", [["dis", "--no-verify"], ["info"]])
def test_commands_show_what_can_be_read(
    command: list[str], broken: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(broken)
    assert main([*command, str(path)]) == 1
    shown = capsys.readouterr()
    assert "unknown or unimplemented opcode: 25" in shown.err and "function 'b'" in shown.err
    assert "@a" in shown.out or "a(" in shown.out or " a" in shown.out
    if command[0] == "dis":
        assert "entry @a(" in shown.out and "entry @c(" in shown.out and "entry @b(" not in shown.out

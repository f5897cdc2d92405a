"""Reading function by function: one that cannot be read does not hide the others."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilery
from support.newer import newer
from tilery import TileError
from tilery.bytecode.dump import dump
from tilery.bytecode.lazy import LazyModule
from tilery.cli.main import main
from tilery.diag import ErrorKind
from tilery.version import READ_ONLY

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


class TestNewerVersions:
    """Files of versions that do not exist yet: what can be read as the newest is shown, with an error that says so."""

    NEXT = f"{READ_ONLY.major}.{READ_ONLY.minor + 1}"

    @pytest.fixture
    def next_file(self) -> bytearray:
        data = bytearray(newer(tilery.dumps(tilery.parse(TEXT), tilery.LATEST)))
        data[8:10] = READ_ONLY.major, READ_ONLY.minor + 1
        return data

    def test_reading_says_what_to_do(self, next_file: bytearray) -> None:
        for load in (tilery.load, partial(tilery.load, lazy=True)):
            with pytest.raises(TileError, match=f"unsupported Tile version {self.NEXT}") as caught:
                load(bytes(next_file))
            assert caught.value.kind is ErrorKind.VERSION
            assert f"bytecode {self.NEXT} is newer than this version of tilery" in str(caught.value.notes[0])

    def test_functions_without_news_are_shown(
        self, next_file: bytearray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The second function has an operation that does not exist, and there is a section that does not exist."""
        at = next_file.index(bytes([0x44]), next_file.index(b"\x5c"))  # make_token, after the first return
        next_file[at] = 0x19
        next_file[-1:] = [0x0A, 3, 1, 2, 3, 0]  # a section with three bytes before the end of the file
        path = tmp_path / "k.tileirbc"
        path.write_bytes(next_file)
        assert main(["dis", "--no-verify", str(path)]) == 1
        out, said = capsys.readouterr()
        assert "entry @a" in out and "entry @c" in out and "entry @b" not in out
        assert f"unsupported Tile version {self.NEXT}" in said and "opcode: 25" in said
        assert main(["info", str(path)]) == 1
        assert "entry @c" in capsys.readouterr().out
        assert main(["dis", str(path)]) == 1
        assert "tilery dis --no-verify" in capsys.readouterr().err
        assert main(["dump", str(path)]) == 1
        assert "section 10, not known" in capsys.readouterr().out

    def test_other_versions_are_not_guessed(self, next_file: bytearray) -> None:
        next_file[8:10] = 13, 0
        with pytest.raises(TileError, match=r"unsupported Tile version 13.0"):
            LazyModule(bytes(next_file), guesses=True)

    @settings(max_examples=200)
    @given(st.data())
    def test_hostile_files(self, data: st.DataObject) -> None:
        """Guessing raises nothing but TileError either."""
        file = bytearray(newer(tilery.dumps(tilery.parse(TEXT), tilery.LATEST)))
        file[8:10] = data.draw(st.sampled_from([(13, 5), (13, 6), (14, 0), (255, 255)]))
        for _ in range(data.draw(st.integers(0, 4))):
            file[data.draw(st.integers(10, len(file) - 1))] = data.draw(st.integers(0, 255))
        with suppress(TileError):
            LazyModule(bytes(file), guesses=True).module()
        dump(bytes(file))

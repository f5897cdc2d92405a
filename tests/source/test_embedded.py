"""Bytecode inside other files."""

from __future__ import annotations

import base64
import random
import subprocess
from pathlib import Path

import pytest

import tilery
from tilery.cli.main import main
from tilery.diag import TileError
from tilery.source.embedded import MAX_MODULES, embedded_modules, kernel_in

TEXT = "entry @{name}(%x: tile<ptr<f32>>) {{\n  %0 = iota : tile<8xi32>\n}}\n"


def module(name: str) -> bytes:
    return tilery.dumps(tilery.parse(TEXT.format(name=name)))


def escaped(data: bytes, how: str) -> bytes:
    """A string as MLIR (hex), C (octal) and Python write it."""
    form = {"mlir": "\\{:02X}", "octal": "\\{:03o}", "python": "\\x{:02x}"}[how]
    return b'"' + b"".join(bytes([b]) if chr(b).isalnum() else form.format(b).encode() for b in data) + b'"'


def forms(data: bytes) -> dict[str, bytes]:
    return {
        "elf": b"\x7fELF" + b"\0" * 60 + data + b".shstrtab\0",
        "fatbin": b"\x50\xed\x55\xba\x01\x00\x10\x00" + b"\0" * 9 + data,
        "mlir": b"stablehlo.custom_call @kernel() {backend_config = " + escaped(data, "mlir") + b"}",
        "octal": b"HloModule m\n  custom-call(), backend_config=" + escaped(data, "octal") + b"\n",
        "python": b"x = " + escaped(data, "python"),
        "base64": b'{"kernel": "' + base64.b64encode(data) + b'"}',
        "lines": b"kernel:\n" + base64.encodebytes(data),
    }


@pytest.mark.parametrize("form", forms(b""))
def test_a_module_is_found(form: str) -> None:
    data = module("k")
    [found] = embedded_modules(forms(data)[form])
    assert found.data == data
    assert kernel_in(forms(data)[form]) == data


def test_several_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.o"
    file.write_bytes(b"\x7fELF" + module("first") + b"\1\2\3" + module("second"))
    assert main(["info", str(file)]) == 0
    out = capsys.readouterr().out
    assert "module 1 of 2, bytes at 0x4" in out and "first" in out and "second" in out
    assert main(["dis", str(file)]) == 1
    assert "the file has 2 modules" in capsys.readouterr().err
    assert main(["dis", "--module", "2", str(file)]) == 0
    assert "entry @second" in capsys.readouterr().out
    assert main(["dis", "--module", "3", str(file)]) == 1
    assert "there is no module 3 in the file, which has 2" in capsys.readouterr().err


def test_an_object_of_a_compiler(tmp_path: Path) -> None:
    """An ELF file that the assembler of this machine made."""
    (tmp_path / "k.tileirbc").write_bytes(module("k"))
    (tmp_path / "k.s").write_text('.section .tileir,"a"\n.incbin "k.tileirbc"\n')
    try:
        subprocess.run(["as", "k.s", "-o", "k.o"], cwd=tmp_path, check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs an assembler")
    assert kernel_in((tmp_path / "k.o").read_bytes()) == module("k")


def test_other_files_are_as_they_were() -> None:
    for data in (b"", b"\x7fELF", b"\x7fTileIR\0", b"entry @k() {}", b"\x7fTileIR\0" * 2000):
        assert kernel_in(data) == data


def test_hostile_files() -> None:
    """Whatever the bytes are, the answer is a list of modules or a TileError, in linear time."""
    rng = random.Random(5)
    whole = forms(module("k"))
    for _ in range(300):
        data = bytearray(rng.choice(list(whole.values())) * rng.randint(1, 3))
        for _ in range(rng.randint(1, 12)):
            at = rng.randrange(len(data))
            data[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        for found in embedded_modules(bytes(data)):
            try:
                tilery.load(found.data)
            except TileError:
                continue
    many = (b"\x7fTileIR\0\x0d\x01\0\0\x81\xff\xff\xff\x7f\x08") * 20_000
    assert embedded_modules(many) == []
    assert embedded_modules(b"\\7FTileIR\\00" * 20_000) == []
    assert embedded_modules(b"f1RpbGVJUgA" * 20_000) == []
    assert len(embedded_modules(module("k") * (MAX_MODULES + 50))) == MAX_MODULES

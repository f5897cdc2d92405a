"""The front door: the kind of an input, and how often it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tilery
from tilery import TileError
from tilery.attrs import DICompileUnit, DIFile, DILoc, DISubprogram, FileLineCol
from tilery.bytecode import reader
from tilery.bytecode.wire import MAGIC
from tilery.cli.main import main
from tilery.source import Input, Kind
from tilery.text.parse import parser

PADDING = "// comment\n" * (parser.QUICK_SIZE // 10)
ILLEGAL = "entry @k() {\n  %0 = iota : tile<512xi8>\n  %1 = iota : tile<1024xi8>\n}\n"


@pytest.mark.parametrize(
    "data, kind",
    [
        (MAGIC, Kind.BYTECODE),
        (MAGIC[:-1], Kind.OTHER),
        (b"\x7fELF", Kind.OTHER),
        (b"ML\xefR", Kind.OTHER),
        (b"entry @k() {\0}", Kind.OTHER),
        (b"", Kind.OTHER),
        (b" \n", Kind.OTHER),
        (b"entry @k() {}", Kind.TEXT),
        ("// größe".encode(), Kind.TEXT),
    ],
)
def test_the_kind_follows_from_the_content(data: bytes, kind: Kind) -> None:
    assert Input(data).kind is kind


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each way of reading was taken."""
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str, key: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            counts[key] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    count(parser, "quick_parse", "fast text")
    count(parser, "parse_operations", "slow text")
    count(reader, "read", "bytecode")
    count(reader, "read_with_offsets", "bytecode offsets")
    return counts


@pytest.mark.parametrize("verb", ["dis", "check", "asm", "opt", "info"])
def test_illegal_text_is_read_once_more_for_positions(
    verb: str, tmp_path: Path, runs: Counter[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(ILLEGAL + PADDING)
    assert main([verb, str(path)]) == 1
    assert f"{path}:2:8: error: " in capsys.readouterr().err
    assert runs == {"fast text": 1, "slow text": 1}


@pytest.mark.parametrize("verb", ["dis", "check", "asm", "opt", "info"])
def test_short_illegal_text_is_read_once(
    verb: str, tmp_path: Path, runs: Counter[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(ILLEGAL)
    assert main([verb, str(path)]) == 1
    assert f"{path}:2:8: error: " in capsys.readouterr().err
    assert runs == {"slow text": 1}


@pytest.mark.parametrize("verb", ["dis", "check", "asm", "opt", "info"])
def test_illegal_bytecode_is_read_once_more_for_positions(
    verb: str, tmp_path: Path, runs: Counter[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.tileirbc"
    path.write_bytes(tilery.dumps(tilery.parse(ILLEGAL, verify=False), verify=False))
    runs.clear()
    assert main([verb, str(path)]) == 1
    assert "error: at byte 0x" in capsys.readouterr().err
    assert runs == {"bytecode": 1, "bytecode offsets": 1}


@pytest.mark.parametrize("verb", ["dis", "check", "asm", "info"])
def test_a_legal_file_is_read_once(verb: str, tmp_path: Path, runs: Counter[str]) -> None:
    text, bytecode = tmp_path / "good.mlir", tmp_path / "good.tileirbc"
    text.write_text("entry @k() {\n  return\n}\n" + PADDING)
    bytecode.write_bytes(tilery.dumps(tilery.parse(text.read_text())))
    runs.clear()
    output = [] if verb in ("check", "info") else ["-o", str(tmp_path / "out")]
    assert main([verb, str(text), *output]) == main([verb, str(bytecode), *output]) == 0
    assert runs == {"fast text": 1, "bytecode": 1}


def test_a_syntax_error_is_found_by_the_second_reading(tmp_path: Path, runs: Counter[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(ILLEGAL.replace("iota", "itoa") + PADDING)
    assert main(["dis", str(path)]) == 1
    assert runs == {"fast text": 1, "slow text": 1}


def test_errors_name_the_exact_location(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the module was read without exact locations."""
    monkeypatch.setattr(reader, "FAST_FROM", 0)
    module = tilery.parse(ILLEGAL, verify=False)
    file = DIFile("k.cu", "/src")
    scope = DISubprogram(file, 1, "k", "k", DICompileUnit(file), 1)
    module.entries[0].loc = DILoc(FileLineCol("k.cu", 1, 1), scope)
    for line, o in enumerate(module.entries[0].body.ops, 7):
        o.loc = DILoc(FileLineCol("k.cu", line, 3), scope)
    source = Input(tilery.dumps(module, verify=False), file="bad")
    again = source.read(exact_locs=False)
    for line, o in enumerate(again.entries[0].body.ops[:2], 7):
        assert source.error(o, "wrong").notes == [f"from /src/k.cu:{line}:3 in k"]


def test_a_position_is_where_the_operation_is() -> None:
    with pytest.raises(TileError) as caught:
        tilery.load(ILLEGAL.encode())
    assert (caught.value.line, caught.value.column) == (2, 8)
    with pytest.raises(TileError) as caught:
        tilery.parse(ILLEGAL)
    assert (caught.value.line, caught.value.column) == (2, 8)

"""Small files that ask for much: what reading and annotating them may take."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

import tilery
from support.assemble import RETURN, File, function, tile, vi
from support.hostile.growth import is_linear, peak_of
from tilery import Block, Op, TileError, ops
from tilery.cli.main import main
from tilery.types import Function

MEGABYTE = 1 << 20


def entries(count: int) -> bytes:
    made: list[Op] = [
        ops.Entry(sym_name=f"k{n}", function_type=Function([]), body=Block([], [ops.Return()])) for n in range(count)
    ]
    return tilery.dumps(ops.Module(body=Block([], made)))


def shared_signature(count: int, params: int) -> bytes:
    """A file of `count` functions with the same signature."""
    names = [b"k%d" % n for n in range(count)]
    rows = b"".join(vi(n) + vi(2) + b"\x02" + vi(0) + vi(len(RETURN)) + RETURN for n in range(count))
    types = [b"\x03", tile(0), function([1] * params)]
    return File(strings=names, types=types, sections={2: (vi(count) + rows, 8)}).data()


def overlapping_types(count: int, params: int) -> bytes:
    """A file in which every second type is the same long one."""
    items = b"\x03" + tile(0)
    long = function([1] * params)
    offsets = [0, 1, *(len(items) + (len(long) if n % 2 else 0) for n in range(count))]
    table = bytearray(vi(len(offsets)))
    table += b"\xcb" * (-len(table) % 4) + b"".join(n.to_bytes(4, "little") for n in offsets)
    return File(signature=2, sections={5: (bytes(table) + items + long, 4)}).data()


def long_producer(uses: int, length: int) -> bytes:
    """A file of version 13.4 with one long string that attributes use many times."""
    text = "x" * length
    hints = ", ".join(f'a{n} = "{text}"' for n in range(uses))
    return tilery.dumps(
        tilery.parse(f"entry @k() optimization_hints=<sm_90 = {{{hints}}}> {{ return }}", verify=False), "13.4"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (shared_signature(4000, 10_000), "too many parameters for a file of 80831 bytes"),
        (overlapping_types(4_000, 20_000), ""),
    ],
)
def test_reading_is_bounded_by_the_size_of_the_file(data: bytes, message: str) -> None:
    def read() -> None:
        try:
            tilery.load(data)
        except TileError as error:
            assert message and message in error.message
        else:
            assert not message

    assert peak_of(read) < 400 * len(data) + 8 * MEGABYTE


def test_a_real_signature_may_be_shared() -> None:
    assert len(tilery.load(shared_signature(500, 100)).entries) == 500


@pytest.mark.parametrize("data", [shared_signature(4000, 10_000), overlapping_types(4_000, 20_000)])
def test_annotating_is_bounded_by_the_size_of_the_file(data: bytes) -> None:
    assert peak_of(lambda: tilery.dump(data).text) < 800 * len(data) + 8 * MEGABYTE


def test_a_dump_shows_a_long_string_once() -> None:
    data = long_producer(500, 50_000)
    text = tilery.dump(data).text
    assert text.count("x" * 500) == 1
    assert text.count("'... of 50000 characters") == 500


def test_reading_is_linear_in_the_number_of_entries() -> None:
    def make(count: int) -> Callable[[], object]:
        data = entries(count)
        return lambda: tilery.load(data, verify=False)

    assert is_linear(make, 300)


# ---------------------------------------------------------------- memory runs out


@pytest.mark.parametrize(
    ("inner", "call"),
    [
        ("tilery.bytecode.reader.FileReader.module", lambda data, m: tilery.load(data)),
        ("tilery.bytecode.dump._complete", lambda data, m: tilery.dump(data)),
        ("tilery.text.parse.parser.parse_with_spans", lambda data, m: tilery.parse("")),
        ("tilery.bytecode.writer._write", lambda data, m: tilery.dumps(m)),
        ("tilery.verifier.verify.verify", lambda data, m: tilery.verify(m)),
        ("tilery.passes.run_pipeline", lambda data, m: tilery.optimize(m)),
        ("tilery.engines.registry.compile_kernel", lambda data, m: tilery.compile(m)),
        ("tilery.text.print.printer.show", lambda data, m: tilery.show(m)),
        ("tilery.engines.common.launch.bind", lambda data, m: tilery.compile(m).launch(1)),
        pytest.param(
            "tilery.engines.common.launch.check_grid",
            lambda data, m: tilery.compile(m, engine="cpu").launch(1),
            marks=pytest.mark.skipif(find_spec("llvmlite") is None, reason="needs llvmlite"),
        ),
    ],
)
def test_every_entry_point_refuses_when_memory_runs_out(
    inner: str, call: Callable[[bytes, ops.Module], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = entries(1)
    module = tilery.load(data)
    call(data, module)

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(inner, fail)
    with pytest.raises(TileError, match="not enough memory"):
        call(data, module)


LIMITED = """
import resource, sys
import tilery
data = sys.stdin.buffer.read()
tilery.load(SMALL)  # imports
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20),) * 2)
try:
    tilery.load(data)
except tilery.TileError as error:
    print(error.message, error.offset is not None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_memory_runs_out_while_a_file_is_read() -> None:
    """Where not a single object fits any more, CPython 3.11 itself may fail, or go round in circles: then again."""
    code, data = LIMITED.replace("SMALL", repr(entries(1))), entries(60_000)
    for _ in range(5):
        try:
            ran = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, timeout=5)
        except subprocess.TimeoutExpired:
            continue
        if not ran.stderr.rstrip().endswith(b"MemoryError"):
            assert (ran.stdout, ran.returncode) == (b"not enough memory to read the module True\n", 0), ran.stderr
            return
    pytest.skip("CPython could not handle its lack of memory")


JUNK = {"braces": "{", "words": "foo ", "names": "%a ", "lines": "x\n", "statements": "  %0 = junk %1 : tile<i32>\n"}


@pytest.mark.parametrize("name", JUNK)
def test_junk_text_takes_memory_in_proportion(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = 600_000
    path = tmp_path / "junk.mlir"
    path.write_text(JUNK[name] * (size // len(JUNK[name])), "utf-8")
    assert main(["check", str(path)]) == 1  # imports, caches
    assert peak_of(lambda: main(["check", str(path)])) < 75 * size
    assert "error: " in capsys.readouterr().err

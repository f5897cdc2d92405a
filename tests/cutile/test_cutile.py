"""cuTile programs without a GPU. All of it is skipped where cuTile is not installed."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tilery
import tilery.cutile
from support.oracle import ROOT
from tilery import TileError
from tilery.cli.main import main
from tilery.cutile import driver
from tilery.cutile.signatures import parse_signature
from tilery.engines import recorded as record
from tilery.engines.registry import AUTOMATIC, ENGINES
from tilery.source.lines import annotate, places

ct = pytest.importorskip("cuda.tile", reason="needs cuTile (pip install cuda-tile)")
from support import cutile_kernels as kernels  # noqa: E402  # needs cuTile

KERNELS = kernels.__file__
ADD = "f32[64], f32[64], f32[64], 16"


def line_of(text: str) -> int:
    """The first line of the kernels that holds this text."""
    return next(n for n, line in enumerate(Path(KERNELS).read_text().splitlines(), 1) if text in line)


@pytest.fixture(params=AUTOMATIC)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    if not ENGINES[request.param].installed:
        pytest.skip(f"needs pip install 'tilery[{ENGINES[request.param].extra}]'")
    with tilery.cutile.on(request.param) as session:
        yield session


# ---------------------------------------------------------------- launches


@pytest.mark.parametrize("name", ["float32", "float64", "int8", "uint8", "int64", "float16"])
def test_numpy_arrays(engine: Any, name: str) -> None:
    x, z = np.arange(100).astype(name), np.zeros(100, name)
    ct.launch(0, (7,), kernels.add, (x, x, z, 16))
    assert (z == x + x).all()
    assert engine.calls == 1


def test_exact_bits() -> None:
    if not ENGINES["cpu"].installed:
        pytest.skip("needs pip install 'tilery[cpu]'")
    x = np.random.default_rng(0).normal(size=4096).astype(np.float32)
    results = []
    for name, exact in (("reference", True), ("cpu", True), ("cpu", False)):
        with tilery.cutile.on(name, exact=exact):
            results.append(np.zeros_like(x))
            ct.launch(0, (64,), kernels.exponential, (x, results[-1], 64))
    assert results[0].tobytes() == results[1].tobytes() != results[2].tobytes()
    with (
        pytest.raises(TileError, match="exact: an engine of your own has no options"),
        tilery.cutile.on(print, exact=True),
    ):
        pass


def test_narrow_floats(engine: Any) -> None:
    types = pytest.importorskip("ml_dtypes")
    x = np.arange(-8, 8).astype(types.bfloat16)
    z = np.zeros_like(x)
    ct.launch(0, (1,), kernels.add, (x, x, z, 16))
    assert (z.astype(np.float32) == np.arange(-8, 8) * 2).all()


@pytest.mark.parametrize("negate", [False, True])
def test_numbers(engine: Any, negate: bool) -> None:
    x, z = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    ct.launch(0, (1,), kernels.scale, (x, 3, 0.5, negate, z, 16))
    assert (z == (x * 3 + 0.5) * (-1 if negate else 1)).all()


def test_lists_of_arrays(engine: Any) -> None:
    arrays = [np.full(16, 2.0**n, np.float32) for n in range(5)]
    z = np.zeros(16, np.float32)
    ct.launch(0, (1,), kernels.total, (arrays, z, 16))
    assert (z == 31).all()


def test_tuples(engine: Any) -> None:
    x, z = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    ct.launch(0, (1,), kernels.pair, ((x, 3.0), z, 16))
    assert (z == x * 3).all()


def test_arrays_with_strides(engine: Any) -> None:
    x = np.arange(64 * 32, dtype=np.int32).reshape(64, 32)[::2, 1::3]
    y = np.zeros((11, 32), np.int32)
    ct.launch(0, (2, 1), kernels.transpose, (x, y, 16))
    assert (y == x.T).all()


class Lender:
    """An array that only shows itself by DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_anything_with_dlpack(engine: Any) -> None:
    x, z = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    ct.launch(0, (1,), kernels.add, (Lender(x), x, Lender(z), 16))
    assert (z == x + x).all()


def test_what_cutile_refuses_stays_refused(engine: Any) -> None:
    with pytest.raises(TypeError, match="Kernel expects 4 arguments but 1 was given"):
        ct.launch(0, (1,), kernels.add, (16,))
    with pytest.raises(TypeError, match="cuTile has no arrays of complex64"):
        ct.launch(0, (1,), kernels.add, (np.zeros(4, np.complex64),) * 3 + (4,))


def test_read_only_arrays_are_not_written(engine: Any, tmp_path: Path) -> None:
    x, z = np.ones(16, np.float32), np.zeros(16, np.float32)
    np.save(tmp_path / "z.npy", z)
    z.flags.writeable = False
    for fixed in (z, np.load(tmp_path / "z.npy", mmap_mode="r")):
        with pytest.raises(TileError, match="is in z, which is read-only") as caught:
            ct.launch(0, (1,), kernels.add, (x, x, fixed, 16))
        assert any("launched at" in note and "test_cutile.py" in note for note in caught.value.notes)
        assert not fixed.any()
        out = np.zeros(16, np.float32)
        ct.launch(0, (1,), kernels.add, (x, fixed, out, 16))
        assert out.all()


def test_the_gaps_of_a_read_only_array_may_be_written(engine: Any) -> None:
    both = np.arange(32, dtype=np.float32)
    even, odd = both[::2], both[1::2]
    even.flags.writeable = False
    ct.launch(0, (1,), kernels.add, (even, even, odd, 16))
    assert (odd == 2 * even).all()
    with pytest.raises(TileError, match="read-only"):
        ct.launch(0, (1,), kernels.add, (odd, odd, even, 16))
    assert (even == np.arange(0, 32, 2)).all()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(16, ">f4"), "an array of float32 in non-native byte order cannot be passed"),
        (np.zeros(16, np.float32)[::-1], r"cannot pass an array with negative strides \(-1,\)"),
        (np.zeros(16, [("x", "f4"), ("y", "i1")])["x"], r"array strides \(5,\) must be multiples of the element size"),
        (np.zeros(72, np.uint8)[1:65].view(np.float32), "is not aligned to its elements of 4 bytes"),
    ],
)
def test_what_a_kernel_refuses_is_refused_with_the_line_of_the_launch(engine: Any, array: Any, message: str) -> None:
    for args in ((array, array, array, 16), ([array], array, 16)):
        with pytest.raises(TileError, match=f"argument 0: .*{message}") as caught:
            ct.launch(0, (1,), kernels.add, args)
        assert [note.partition(":")[0] for note in caught.value.notes] == [f"launched at {__file__}"]


def test_nothing_is_executed_without_an_engine() -> None:
    x, z = np.ones(16, np.float32), np.zeros(16, np.float32)
    with tilery.cutile.on("none"):
        ct.launch(0, (1,), kernels.add, (x, x, z, 16))
    assert (z == 0).all()


def test_an_engine_of_ones_own() -> None:
    seen: list[Any] = []
    x = np.zeros(16, np.float32)
    with tilery.cutile.on(seen.append):
        ct.launch(0, (3, 2), kernels.add, (x, x, x, 16))
    (call,) = seen
    assert call.grid == (3, 2, 1)
    assert call.names[:4] == ["x", "x.shape[0]", "x.strides[0]", "y"]
    assert call.values[:3] == [x.ctypes.data, 16, 1]
    assert [(each.name, each.size) for each in call.memory] == [("x", 64), ("y", 64), ("z", 64)]


# ---------------------------------------------------------------- errors


def test_a_fault_names_the_lines_of_python(engine: Any) -> None:
    x, z = np.zeros(10, np.float32), np.zeros(16, np.float32)
    with pytest.raises(TileError, match="0 bytes after the end of x") as caught:
        ct.launch(0, (1,), kernels.past_the_end, (x, z, 16))
    text = caught.value.render()
    assert f"cutile_kernels.py:{line_of('return ct.gather')}:12 in deeper" in text
    assert "return ct.gather(x, i, check_bounds=False)" in text
    assert "in past_the_end" in text
    assert f"launched at {__file__}" in text


def test_an_assertion_prints_its_message(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TileError, match="all must be positive"):
        ct.launch(0, (1,), kernels.claim, (np.zeros(16, np.float32), 16))
    assert capsys.readouterr().out == "all must be positive\n"


def test_a_launch_can_be_stopped() -> None:
    with (
        tilery.cutile.on(seconds=0.2),
        pytest.raises(TileError, match=r"stopped after 0.2 seconds[\s\S]*while ct.atomic_add"),
    ):
        ct.launch(0, (1,), kernels.forever, (np.zeros(1, np.int32),))


def test_there_is_no_gpu_afterwards() -> None:
    x = np.zeros(16, np.float32)
    with tilery.cutile.on():
        launch = ct.launch
        ct.launch(0, (1,), kernels.add, (x, x, x, 16))
    with pytest.raises(RuntimeError, match=r"launched outside `with tilery.cutile.on"):
        launch(0, (1,), kernels.add, (x, x, x, 16))


def test_an_old_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilery.cutile.versions.version", lambda name: "1.2.0")
    with pytest.raises(TileError, match=r"cuTile 1.2.0 is too old"), tilery.cutile.on():
        pass


def test_a_new_release_is_checked_and_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilery.cutile.versions.version", lambda name: "1.8.1")
    with pytest.warns(RuntimeWarning, match="cuTile 1.8.1 is newer than the releases"), tilery.cutile.on() as session:
        assert session.calls == 0
    with warnings.catch_warnings(), tilery.cutile.on():  # once is enough
        warnings.simplefilter("error")


@pytest.mark.parametrize("fault", ["launch", "compiler"])
def test_a_new_release_that_does_not_work_says_so(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Whether a hook is gone or a kernel computes something else, the error names the release and what failed."""
    monkeypatch.setattr("tilery.cutile.versions.version", lambda name: "2.0.0")
    if fault == "launch":
        monkeypatch.setattr("tilery.cutile.session.engine_named", lambda name: lambda call: None)
        why = "ArithmeticError: a kernel whose result is known"
    else:
        monkeypatch.delattr("cuda.tile._compile._get_bytecode")
        why = "AttributeError"
    with pytest.raises(TileError, match=r"cuTile 2.0.0 is newer than this tilery") as caught, tilery.cutile.on():
        pass
    assert why in str(caught.value.notes[0])


def test_a_driver_that_is_in_use_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, driver.LOADER, ModuleType(driver.LOADER))
    with pytest.raises(TileError, match="already loaded the driver of a GPU"), tilery.cutile.on():
        pass


def test_other_engines_are_refused() -> None:
    with (
        pytest.raises(TileError, match=r"unknown engine 'tpu', expected reference, .* or none"),
        tilery.cutile.on("tpu"),
    ):
        pass


@pytest.mark.parametrize("option", ["--engine=tpu", "--capability=new", "--seconds=soon"])
def test_wrong_options(option: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["cutile", "run", option, "script.py"])
    assert stop.value.code == 2


def test_without_cutile(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("tilery.cutile.versions.version", missing)
    with pytest.raises(TileError, match="cuTile is not installed"):
        tilery.cutile.module(None, ())


# ---------------------------------------------------------------- the Tile IR of a kernel


def test_the_module_of_a_launch() -> None:
    seen: list[Any] = []
    x = np.zeros(64, np.float32)
    with tilery.cutile.on(seen.append):
        ct.launch(0, (1,), kernels.add, (x, x, x, 16))
    module = tilery.cutile.module(kernels.add, (x, x, x, 16))
    assert tilery.equal(module, seen[0].module)
    assert tilery.equal(module, tilery.cutile.module(kernels.add, ADD))


def test_a_list_and_a_tuple_as_text() -> None:
    listed = tilery.cutile.module(kernels.total, "[f32[16], f32[16]], f32[16], 16")
    assert listed.entries[0].function_type.params[0].text == "tile<ptr<i64>>"
    paired = tilery.cutile.module(kernels.pair, "(f32[16], 2.0), f32[16], 16")
    assert [p.text for p in paired.entries[0].function_type.params[:4]] == [
        "tile<ptr<f32>>",
        "tile<i32>",
        "tile<i32>",
        "tile<f32>",
    ]


@pytest.mark.parametrize("version", ["13.1", "13.2", "13.3"])
def test_older_bytecode(version: str) -> None:
    data = tilery.cutile.bytecode(kernels.add, ADD, version=version)
    assert f"bytecode {version}" in tilery.dump(data).text or str(tilery.load(data).version) == version


def test_every_operation_has_its_line_of_python() -> None:
    module = tilery.cutile.module(kernels.add, ADD)
    start = line_of("def add")
    lines = {place.line for o in tilery.walk(module.entries[0].body) for place in places(o.loc)}
    assert lines == {start, start + 1, start + 2}
    text = annotate(module)
    assert f"// cutile_kernels.py:{start + 1}: i = ct.bid(0)\n" in text
    assert tilery.equal(tilery.parse(text), tilery.parse(tilery.show(module)))


@pytest.mark.parametrize(
    ("text", "words", "column"),
    [
        ("f32[", "expected a list of arguments", 1),
        ("f33[4]", "unknown element type", 1),
        ("1, f32[-1]", "not a size", 8),
        ("1, f32[2, 2](1)", "needs 2 strides", 4),
        ("1, open('x')", "not an argument", 4),
    ],
)
def test_wrong_signatures(text: str, words: str, column: int) -> None:
    with pytest.raises(TileError, match=words) as caught:
        parse_signature(text)
    assert caught.value.column == column


# ---------------------------------------------------------------- the command


def test_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    signature = ["--sig", ADD]
    assert main(["cutile", "show", f"{KERNELS}::add", *signature]) == 0
    assert f"// cutile_kernels.py:{line_of('i = ct.bid(0)')}: i = ct.bid(0)" in capsys.readouterr().out
    assert main(["cutile", "show", "--plain", f"{KERNELS}::add", *signature]) == 0
    plain = capsys.readouterr().out
    assert "//" not in plain
    out = tmp_path / "add.tileirbc"
    assert main(["cutile", "show", f"{KERNELS}::add", *signature, "-o", str(out)]) == 0
    assert tilery.show(tilery.load(out)) == plain


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ([f"{KERNELS}::nothing"], 1, "has no kernel 'nothing'"),
        (["nowhere.py::add"], 1, "there is no file 'nowhere.py'"),
        ([f"{ROOT / 'README.md'}::add"], 1, "SyntaxError"),
        ([f"{KERNELS}::add", "--sig", "f33[1]"], 2, "unknown element type 'f33'"),
        ([f"{KERNELS}::add", "--sig", "1"], 1, "the kernel takes 4 arguments (x, y, z, T), 1 were given"),
        (
            [f"{KERNELS}::add", "--sig", "f32[4], f32[4], f32[4, 4], 4"],
            1,
            "Index size 1 does not match the array rank 2",
        ),
    ],
)
def test_show_says_what_is_wrong(
    options: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cutile", "show", *options]) == status
    assert words in capsys.readouterr().err


SCRIPT = """
import subprocess, sys
import numpy as np
import cuda.tile as ct
sys.path.insert(0, {folder!r})
from support.cutile_kernels import add

x, z = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
ct.launch(0, (4,), add, (x, x, z, 16))
assert (z == x + x).all()
print(sys.argv[1:], __name__, flush=True)
if "child" in sys.argv:
    subprocess.run([sys.executable, __file__, "grandchild"], check=True)
sys.exit(3)
"""


def test_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(ROOT / "tests")).replace("sys.exit(3)", "sys.exit(len(sys.argv))"))
    launches = tmp_path / "launches"
    assert main(["cutile", "run", "--record", str(launches), str(script), "--size", "64"]) == 3
    assert capfd.readouterr().out == "['--size', '64'] __main__\n"
    (file,) = launches.iterdir()
    assert main(["run", "--recorded", str(file)]) == 0
    assert record.load(file).grid == (4, 1, 1)


def test_run_with_processes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(ROOT / "tests")).replace("sys.exit(3)", ""))
    assert main(["cutile", "run", str(script), "child"]) == 0
    assert capfd.readouterr().out == "['child'] __main__\n['grandchild'] __main__\n"


def test_run_of_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cutile", "run", "nowhere.py"]) == 2
    assert "cannot read 'nowhere.py'" in capsys.readouterr().err


TESTS = """
import sys
import numpy as np
import pytest
import cuda.tile as ct
sys.path.insert(0, {folder!r})
from support.cutile_kernels import add

@pytest.mark.parametrize("n", [16, 40])
def test_add(n):
    x, z = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    ct.launch(0, (3,), add, (x, x, z, 16))
    assert (z == x + x).all()
"""


@pytest.mark.parametrize(("engine", "passed"), [("reference", 2), ("none", 0)])
def test_the_plugin_of_pytest(tmp_path: Path, engine: str, passed: int) -> None:
    (tmp_path / "test_add.py").write_text(TESTS.format(folder=str(ROOT / "tests")))
    found = run_pytest(tmp_path, "--tilery-engine", engine)
    assert (f"{passed} passed" if passed else "2 failed") in found, found


EXACT_TEST = """
import sys
import numpy as np
import cuda.tile as ct
sys.path.insert(0, {folder!r})
from support.cutile_kernels import exponential

def test_exponential():
    z = np.zeros(4096, np.float32)
    ct.launch(0, (64,), exponential, (np.load("x.npy"), z, 64))
    assert z.tobytes() == np.load("reference.npy").tobytes()
"""


@pytest.mark.parametrize(("options", "outcome"), [(["--tilery-exact"], "1 passed"), ([], "1 failed")])
def test_the_plugin_asks_for_exact_bits(tmp_path: Path, options: list[str], outcome: str) -> None:
    if not ENGINES["cpu"].installed:
        pytest.skip("needs pip install 'tilery[cpu]'")
    x = np.random.default_rng(0).normal(size=4096).astype(np.float32)
    z = np.zeros_like(x)
    with tilery.cutile.on():
        ct.launch(0, (64,), kernels.exponential, (x, z, 64))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "reference.npy", z)
    (tmp_path / "test_exact.py").write_text(EXACT_TEST.format(folder=str(ROOT / "tests")))
    found = run_pytest(tmp_path, "--tilery-engine", "cpu", *options)
    assert outcome in found, found


def run_pytest(folder: Path, *options: str) -> str:
    """Run the tests of a folder with the plugin; return what pytest printed."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tilery.cutile.pytest", *options, ".", "-p", "no:cacheprovider"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


# ---------------------------------------------------------------- torch


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    with tilery.cutile.on():
        x = torch.arange(64, dtype=torch.bfloat16, device="cuda")
        z = torch.empty_like(x)
        assert z.isnan().all() and z.is_cuda
        ct.launch(torch.cuda.current_stream(), (4,), kernels.add, (x, x, z, 16))
        assert (z == x + x).all()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ct.launch(torch.cuda.current_stream(), (4,), kernels.add, (z, x, z, 16))
        assert (z == x + x).all()
        graph.replay()
        assert (z == x * 3).all()
    assert not torch.cuda.is_available()


def test_a_launch_after_the_session_says_so() -> None:
    x, y, z = np.ones(16, np.float32), np.ones(16, np.float32), np.zeros(16, np.float32)
    with tilery.cutile.on():
        pass
    with pytest.raises(TileError, match=r"a kernel was launched after `tilery.cutile.on` had ended"):
        ct.launch(0, (1,), kernels.add, (x, y, z, 16))
    with tilery.cutile.on():
        ct.launch(0, (1,), kernels.add, (x, y, z, 16))
    assert z.tolist() == [2.0] * 16


FAULTY = """
import cuda.tile as ct
import numpy as np

@ct.kernel
def past(x):
    ct.atomic_add(x, ct.bid(0) + 4, 1, check_bounds=False)

ct.launch(0, (2,), past, (np.zeros(5, np.int32),))
print("done")
"""


def test_run_prints_reports_as_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Stdout belongs to the script, so they are a line on stderr."""
    script = tmp_path / "script.py"
    script.write_text(FAULTY)
    assert main(["cutile", "run", "--json", "--sanitize", "all", str(script)]) == 1
    out, err = capfd.readouterr()
    assert out == "done\n"
    (report,) = json.loads(err)["reports"]
    assert (report["check"], report["places"][0]["line"]) == ("bounds", 7)

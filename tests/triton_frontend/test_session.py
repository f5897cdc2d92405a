"""Programs run unchanged: what `on` replaces, what it leaves alone, and what users see of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

import tilery  # noqa: E402
import tilery.triton  # noqa: E402
from support.oracle import ROOT  # noqa: E402
from tilery import TileError  # noqa: E402
from tilery.cli.main import main  # noqa: E402
from tilery.sanitize import Sanitizer  # noqa: E402

with tilery.triton.on("none"):  # `autotune` of older releases asks for a driver
    from triton_frontend import kernels

PROGRAM = """import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i)
    tl.store(out + i, a + b, mask=i < n)


def main():
    x = torch.ones(1000, device="cuda")
    out = torch.zeros(1000, device="cuda")
    add[(4,)](x, x, out, 1000, 256)
    return out


if __name__ == "__main__":
    print(main().sum().item())
"""
FIXED = PROGRAM.replace("tl.load(y + i)", "tl.load(y + i, mask=i < n)")
SIGNATURE = "f32[1000], f32[1000], f32[1000], 1000, 256"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton_cache"))


def environment() -> dict[str, str]:
    """Return the environment of a child: it finds the same Triton as this process."""
    return dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tilery", "triton", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, env=environment())


def launch(x: Any, out: Any) -> Any:
    return kernels.add[(4,)](x, x, out, 1000, 256)


def test_the_binary_is_bytecode() -> None:
    with tilery.triton.on():
        x, out = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
        made = launch(x, out)
    module = tilery.load(made.asm["tileirbc"])
    assert [entry.sym_name for entry in module.entries] == ["add"] and "tt.load" in made.asm["ttir"]
    assert tilery.verify(module) == []


def test_a_kernel_as_a_module_without_a_launch() -> None:
    module = tilery.triton.module(kernels.add, SIGNATURE)
    params = module.entries[0].function_type.params
    assert [str(p) for p in params] == ["tile<ptr<f32>>"] * 3 + ["tile<i32>"]
    with pytest.raises(TileError, match="unknown element type 'f31'"):
        tilery.triton.module(kernels.add, "f31[8]")


def test_a_tensor_on_the_host_is_refused_as_on_a_gpu() -> None:
    with tilery.triton.on(), pytest.raises(ValueError, match="cannot be accessed from Triton"):
        launch(torch.ones(1000), torch.zeros(1000, device="cuda"))


def test_a_launch_after_the_end_says_so() -> None:
    with tilery.triton.on():
        x, out = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
        made = launch(x, out)
    # Triton 3.3 looks for its driver first.
    with pytest.raises((TileError, RuntimeError), match=r"after `tilery\.triton\.on` had ended|0 active drivers"):
        made.run(1, 1, 1, 0, made.function, None, None, None, None, x, x, out, 1000, 256)


def test_sessions_do_not_share_kernels_of_other_settings() -> None:
    """A kernel that was compiled in program order is compiled again in strict order, also from Triton's cache."""
    texts = []
    for strict in (False, True, False):
        with tilery.triton.on(strict=strict):
            x = torch.zeros(2, 64, device="cuda")
            made = kernels.through_memory[(1,)](torch.ones(64, device="cuda"), x, 64)
            texts.append(tilery.show(tilery.load(made.asm["tileirbc"])))
    assert texts[0] == texts[2] != texts[1]


def test_a_fault_names_the_file_that_launched(tmp_path: Path) -> None:
    """Triton's cache is keyed by content: the same kernel in two files is one to it."""
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(PROGRAM)
        done = command("run", tmp_path / name)
        assert done.returncode == 1
        assert re.search(rf"/{name}:10:\d+ in add", done.stderr) and f"launched at {tmp_path / name}:17" in done.stderr


def test_a_sanitizer_watches_launches() -> None:
    found = Sanitizer("all")
    with tilery.triton.on(sanitize=found):
        x = torch.ones(64, device="cuda")
        kernels.through_memory[(1,)](x, torch.zeros(2, 64, device="cuda"), 64)
    assert not found.reports.faults


def test_recorded_launches_run_again(tmp_path: Path) -> None:
    with tilery.triton.on(record=tmp_path / "launches"):
        launch(torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda"))
    (file,) = (tmp_path / "launches").iterdir()
    line = [sys.executable, "-m", "tilery", "run", "--recorded", str(file), "--print", "out"]
    done = subprocess.run(line, capture_output=True, text=True, env=environment())
    assert done.stdout.startswith("out = [2. 2. 2.")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fixed.py").write_text(FIXED)
    place = f"{tmp_path / 'fixed.py'}::add"

    def printed(verb: str, *arguments: str) -> str:
        assert main(["triton", verb, place, "--sig", SIGNATURE, *arguments]) == 0
        return capsys.readouterr().out

    assert command("run", tmp_path / "fixed.py").stdout == "2000.0\n"
    shown = printed("show")
    assert "// fixed.py:9: a = tl.load(x + i, mask=i < n)" in shown and "entry @add" in shown
    assert "tt.load" in printed("show", "--ttir")
    assert printed("check") == "add(x: tile<ptr<f32>>, y: tile<ptr<f32>>, out: tile<ptr<f32>>, n: tile<i32>)\n"
    arguments = ["--arg", "rand:f32:1000", "--arg", "rand:f32:1000", "--arg", "out=zeros:f32:1000", "--arg", "i32:1000"]
    assert printed("launch", "--grid", "4", *arguments, "--print", "out").startswith("out = [")
    assert main(["triton", "show", f"{tmp_path / 'fixed.py'}::sub", "--sig", SIGNATURE]) == 1
    assert "its kernels: add" in capsys.readouterr().err


def test_other_verbs_take_triton_kernels(tmp_path: Path) -> None:
    (tmp_path / "fixed.py").write_text(FIXED)
    assert main(["cost", f"{tmp_path / 'fixed.py'}::add", "--sig", SIGNATURE]) == 0


def test_the_tuner_takes_triton_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no GPU here; what would be tuned is a module of Tile IR with its arguments."""
    import tilery.cli.verbs.gpu.tune as verb

    tuned = []
    monkeypatch.setattr(verb, "search", lambda module, grid, values, args, **options: tuned.append((module, values)))
    monkeypatch.setattr(verb, "show", lambda result, args: None)
    (tmp_path / "fixed.py").write_text(FIXED)
    specs = ("rand:f32:1000", "rand:f32:1000", "zeros:f32:1000", "i32:1000")
    arguments = [each for spec in specs for each in ("--arg", spec)]
    assert main(["tune", f"{tmp_path / 'fixed.py'}::add", "--sig", SIGNATURE, "--grid", "4", *arguments]) == 0
    ((module, values),) = tuned
    assert module.entries[0].sym_name == "add" and len(values) == 4


def test_the_plugin_runs_suites_and_their_children(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FIXED)
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys\nimport program\n\n"
        "def test_here():\n    assert program.main().sum() == 2000\n\n"
        "def test_child():\n    line = [sys.executable, 'program.py']\n"
        "    assert subprocess.run(line, capture_output=True, text=True).stdout == '2000.0\\n'\n"
    )
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tilery.triton.pytest"]
    env = environment()
    done = subprocess.run([*line, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


def test_the_plugins_of_two_languages_run_together(tmp_path: Path) -> None:
    """Whichever comes first: its options hold for both, and launches of both are counted."""
    pytest.importorskip("cuda.tile", reason="needs cuTile (pip install cuda-tile)")
    (tmp_path / "program.py").write_text(FIXED)
    (tmp_path / "test_it.py").write_text(
        "import torch\nimport cuda.tile as ct\nimport program\n\n\n"
        "@ct.kernel\ndef double(x):\n    ct.store(x, 0, 2 * ct.load(x, 0, 1024))\n\n\n"
        "def test_both():\n    x = program.main()\n    assert x.sum() == 2000\n"
        "    ct.launch(torch.cuda.current_stream(), (1,), double, (x,))\n    assert x.sum() == 4000\n"
    )
    for order in (("triton", "cutile"), ("cutile", "triton")):
        plugins = [word for name in order for word in ("-p", f"tilery.{name}.pytest")]
        results = tmp_path / order[0]
        line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugins, "--tilery-sanitize=bounds"]
        env = environment()
        line += [f"--tilery-results={results}", str(tmp_path)]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=env)
        assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
        (found,) = (json.loads(line) for path in results.glob("*.jsonl") for line in path.read_text().splitlines())
        assert (found["launches"], found["outcome"], found["reports"]) == (2, "passed", [])


def test_other_releases_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilery.triton.versions.version", lambda name: "2.9.1")
    with pytest.raises(TileError, match=r"Triton 2\.9\.1 is not supported, expected 3\.3 to 3\.9"), tilery.triton.on():
        pass


def test_names_of_parameters_are_not_python(tmp_path: Path) -> None:
    shutil.copy(Path(kernels.__file__), tmp_path / "copy.py")
    assert main(["triton", "check", f"{tmp_path / 'copy.py'}::tuned", "--sig", "f32[100], f32[100], 100"]) == 0


def test_arrays_of_the_host_become_tensors() -> None:
    x, out = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    with tilery.triton.on():
        with pytest.raises(ValueError, match="cannot be accessed from Triton"):
            launch(torch.from_numpy(x), torch.from_numpy(out))
        launch(tilery.triton.device_tensor(x), tilery.triton.device_tensor(out))
    assert (out == 2).all()


def test_a_file_is_compiled_for_a_signature(tmp_path: Path) -> None:
    (tmp_path / "fixed.py").write_text(FIXED)
    made = tilery.triton.compile_file(f"{tmp_path / 'fixed.py'}::add", SIGNATURE)
    assert [(each.name, each.type, each.argument) for each in made.parameters] == [
        *((name, "f32[1000]", "rand:f32:1000") for name in ("x", "y", "out")),
        ("n", "i32", "i32:1000"),
    ]
    assert made.entry == "add" and made.constants == {"B": 256} and tilery.load(made.bytecode).entries

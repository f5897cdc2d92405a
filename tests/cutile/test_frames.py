"""Failures of cuTile programs show the frames of the program, not those of tilery."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import run
from support.oracle import ROOT

pytest.importorskip("cuda.tile", reason="needs cuTile (pip install cuda-tile)")

KERNEL = """import cuda.tile as ct, numpy as np
@ct.kernel
def oob(x, z, n: ct.Constant[int]):
    a = ct.gather(x, ct.arange(n, dtype=ct.int32) + 1000000, check_bounds=False)
    ct.store(z, index=(0,), tile=a)
def go(x):
    ct.launch(0, (1,), oob, (x, np.zeros(64, np.float32), 16))
def main():
    go(np.ones(64, np.float32))
"""


def test_a_fault_of_a_script_names_its_calls(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(KERNEL + "main()\n")
    done = run("cutile", "run", script)
    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    assert f"  at {script}:4:9 in oob" in lines
    assert lines[-3:] == [
        f"note: launched at {script}:7",
        f"note: called at {script}:9 in main",
        f"note: called at {script}:10 in <module>",
    ]


@pytest.mark.parametrize(
    "code", ["raise ValueError('x')", "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e"]
)
def test_an_exception_of_a_script_is_shown_as_python_shows_it(code: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"def f():\n    {code.replace(chr(10), chr(10) + '    ')}\nf()\n")
    done = run("cutile", "run", script)
    plain = subprocess.run([sys.executable, script], capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (1, plain.stderr.decode())


def test_a_failure_in_pytest_ends_in_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_oob.py").write_text(KERNEL + "def test_oob():\n    main()\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tilery.cutile.pytest", "-p", "no:cacheprovider", "."]
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ.get("PATH", "")}
    shown = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False).stdout
    assert "test_oob.py:7: ExecutionError" in shown
    assert "session.py" not in shown and "host_argument" not in shown
    assert re.search(r"^> +ct\.launch\(0, \(1,\), oob", shown, re.M)


BAD = """import cuda.tile as ct, numpy as np
@ct.kernel
def k(x):
    ct.store(x, (0,), ct.load(x, (0,), (16,)) + undefined)
def main():
    ct.launch(0, (1,), k, (np.zeros(64, np.float32),))
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("engine", ["reference", "auto", "none"])
def test_a_compile_error_is_short(engine: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(BAD)
    done = run("cutile", "run", "--engine", engine, script)
    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "error: UnsupportedSyntaxError: Undefined variable undefined used"
    assert lines[2].strip() == "ct.store(x, (0,), ct.load(x, (0,), (16,)) + undefined)"
    assert lines[-2:] == [f"note: launched at {script}:6 in main", f"note: called at {script}:8 in <module>"]
    assert len(lines) == 6


def test_a_kernel_needs_a_signature(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(BAD)
    done = run("cutile", "show", f"{script}::k")
    assert done.returncode == 1
    said = done.stderr.decode()
    assert "the kernel takes 1 arguments (x), none was given" in said and "--sig" in said


def test_a_file_that_fails_to_import_says_where(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\ndef main(args):\n    return {}[args[0]]\nmain(sys.argv[1:] or ['none'])\n")
    done = run("cutile", "show", f"{script}::k", "--sig", "f32[16]")
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 1 and lines[0] == "error: KeyError: 'none'", "the script has no arguments"
    assert lines[1:] == [f"note: raised at {script}:3 in main", f"note: called at {script}:4 in <module>"]


def test_the_help_names_the_options_of_schedules() -> None:
    shown = run("cutile", "run", "--help").stdout.decode()
    assert all(option in shown for option in ("--schedule", "--schedules", "--seed"))


@pytest.mark.parametrize(
    "code, option, status, said",
    [
        ("while True: pass", ["--max-seconds", "2"], 1, "error: the script took more than 2 seconds; it was at "),
        ("np.ones(1 << 32)", ["--max-memory", str(1 << 31)], 1, "MemoryError"),
        ("print(1)", ["--max-seconds", "600", "--max-memory", str(1 << 33)], 0, ""),
    ],
)
def test_a_script_has_limits(code: str, option: list[str], status: int, said: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import numpy as np\ntry:\n    {code}\nexcept ZeroDivisionError:\n    pass\n")
    done = run("cutile", "run", *option, script)
    assert done.returncode == status and said in done.stderr.decode()

"""Execute public notebooks unchanged, without a GPU, and write docs/reports/lab/notebooks.md.

    python scripts/programs/notebook.py CHECKOUT [--engine cpu] [--limit 900]

CHECKOUT is a clone of NVIDIA/accelerated-computing-hub. Needs nbclient and ipykernel. The kernel of the notebook is
IPython's, started by `tilery cutile run`, so that its cells see the stand-ins.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from parts.limited import GOOD, cell, environment, revision

REPORT = checkout.LAB / "notebooks.md"
REPOSITORY = "NVIDIA/accelerated-computing-hub"
NOTEBOOKS = ("tutorials/cuda-tile/notebooks/01__cutile_python_intro__vector_add.ipynb",)
OWN = {"BREV_ENV_ID": "tilery"}
"""A variable that the notebook looks for: it installs packages unless it is there."""


def add_kernel(folder: Path, engine: str) -> None:
    """Add a kernel of Jupyter whose process runs with tilery's stand-ins."""
    launcher = import_module("ipykernel_launcher").__file__
    command = [sys.executable, "-m", "tilery", "cutile", "run", "--engine", engine, launcher]
    target = folder / "kernels" / "tilery"
    target.mkdir(parents=True)
    spec = {"argv": [*command, "-f", "{connection_file}"], "display_name": "tilery", "language": "python"}
    (target / "kernel.json").write_text(json.dumps(spec), "utf-8")


def execute(path: Path, limit: int) -> list[dict[str, Any]]:
    """Execute a notebook; return a row for each code cell."""
    notebook = import_module("nbformat").read(path, as_version=4)
    client = import_module("nbclient").NotebookClient(notebook, timeout=limit, kernel_name="tilery", allow_errors=True)
    rows = []
    with client.setup_kernel(cwd=str(path.parent)):
        for number, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            start = time.monotonic()
            client.execute_cell(cell, number)
            rows.append({"cell": number, "seconds": time.monotonic() - start} | shown(cell))
            print(path.name, rows[-1], flush=True)
    return rows


def shown(cell: Any) -> dict[str, str]:
    """Return the error of a cell, and the last line that it printed."""
    errors = [f"{out.ename}: {out.evalue}" for out in cell.outputs if out.output_type == "error"]
    lines = [line for out in cell.outputs if out.output_type == "stream" for line in out.text.splitlines() if line]
    return {"error": errors[0][:150] if errors else "", "last": lines[-1][:150] if lines else ""}


INTRODUCTION = """\
`scripts/programs/notebook.py` wrote this page. It executes notebooks of other people, unchanged, cell by cell, with
Jupyter's protocol. The kernel is IPython's, which `tilery cutile run` started with the stand-ins for CuPy, `numba.cuda`
and `cuda.core`. [The guide](../../guides/cutile.md) says how."""
NOT_MEASURED = """\
Results are compared where a cell compares them itself. Bandwidths that a notebook prints are those of this machine
against the peak of a GPU that is not there. A benchmark of `cupyx.profiler` runs its function once."""


def page(found: dict[str, list[dict[str, Any]]], commit: str, engine: str) -> str:
    """Write the page."""
    lines = ["# Public notebooks, without a GPU", "", INTRODUCTION, ""]
    for name, rows in found.items():
        good = sum(not row["error"] for row in rows)
        lines += [f"## {REPOSITORY} (`{commit}`): {name}", ""]
        lines += [f"{good} of {len(rows)} code cells end normally on engine `{engine}`.", ""]
        lines += ["| cell | result | time | last line |", "|--:|---|--:|---|"]
        for row in rows:
            said = cell(row["error"]) or GOOD
            lines.append(f"| {row['cell']} | {said} | {row['seconds']:.1f} s | {cell(row['last'])} |")
        lines.append("")
    return "\n".join([*lines, "## Not measured", "", NOT_MEASURED, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--limit", type=int, default=900, metavar="SECONDS", help="of one cell")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        add_kernel(Path(folder), args.engine)
        os.environ |= environment(JUPYTER_PATH=folder, **OWN)
        found = {name: execute(args.checkout / name, args.limit) for name in NOTEBOOKS}
    checkout.publish(page(found, revision(args.checkout), args.engine), REPORT)
    return int(any(row["error"] for rows in found.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())

"""A folder of static files in which tilery runs in the browser, by Pyodide. Any web server can serve it.

Kernels run where the folder of Pyodide has NumPy's wheel; everything else works without it.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ..diag import TileError
from .assets import PANES, SCRIPTS, STYLE, VENDOR, asset, linked, page

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'none'"
)
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
LEFT_OUT = (
    "cutile", "cpp", "reducer", "tuner", "smith", "engines/cpu", "engines/cuda", "engines/gpu", "engines/tileiras",
    "engines/triton",
)  # fmt: skip
"""Packages that cannot work in a browser."""


def write_playground(out: Path, pyodide: Path) -> dict[str, int]:
    """Write the files, and return their sizes. `pyodide` is the folder of the npm package of that name."""
    missing = [name for name in RUNTIME if not (pyodide / name).is_file()]
    if missing:
        raise TileError(f"'{pyodide}' is not Pyodide: it has no {', '.join(missing)}")
    (out / "pyodide").mkdir(parents=True, exist_ok=True)
    wheels = [path.name for path in sorted(pyodide.glob("numpy-*.whl"))]
    for name in (*RUNTIME, *wheels):
        shutil.copyfile(pyodide / name, out / "pyodide" / name)
    (out / "tilery.zip").write_bytes(_package())
    for name in (SCRIPTS[0], PANES, STYLE, VENDOR, "worker.js", "playground.js"):
        (out / name).write_bytes(asset(name))
    start = '<script defer src="./playground.js"></script>\n'
    (out / "index.html").write_text(page(*linked("./", start), POLICY), "utf-8")
    loaded = ["pyodide/pyodide.asm.wasm", "pyodide/python_stdlib.zip", "pyodide/pyodide-lock.json", "tilery.zip"]
    loaded += [f"pyodide/{name}" for name in wheels]
    sizes = {name: (out / name).stat().st_size for name in loaded}
    (out / "manifest.json").write_text(json.dumps({"sizes": sizes, "numpy": bool(wheels)}), "utf-8")
    return {str(path.relative_to(out)): path.stat().st_size for path in sorted(out.rglob("*")) if path.is_file()}


def _package() -> bytes:
    """Return tilery's own files as a ZIP archive, the same one each time."""
    root = Path(__file__).parents[2]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(root / "tilery"):
            info = zipfile.ZipInfo(path.relative_to(root).as_posix())
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())
    return made.getvalue()


def _files(package: Path) -> Iterator[Path]:
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        unused = any(name.startswith(f"{folder}/") for folder in LEFT_OUT)
        if path.is_file() and "__pycache__" not in name and not unused:
            yield path

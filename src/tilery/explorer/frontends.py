"""cuTile, Triton and C++: find kernels in a source without running it, and compile it in a child process."""

from __future__ import annotations

import os
import re
import sys
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..diag import TileError
from ..programs.kernels import language_of_source
from .requests import Request

LANGUAGES = ("cutile", "triton", "cpp")
TARGET = re.compile(r"sm_[0-9]{2,3}[a-z]?\Z")


def language_of(name: str, text: str | bytes) -> str:
    """Return the language of a source by its file name and imports; empty if it is none of them."""
    if name.endswith(".py"):
        return language_of_source(text)
    return "cpp" if name.endswith((".cu", ".cpp", ".cxx", ".cc")) else ""


def kernels(language: str, text: str) -> list[dict[str, Any]]:
    """List the kernels of a source; C++ needs the compiler for that."""
    if language == "cpp":
        return []
    from ..lsp.python import kernels as find

    return [{"name": k.name, "line": k.line + 1, "signature": k.signature or ""} for k in find(text)]


def available() -> list[str]:
    """Return the languages whose compilers are installed."""
    from importlib.util import find_spec

    found = []
    for language, package in (("cutile", "cuda.tile"), ("triton", "triton")):
        try:
            if all(find_spec(name) is not None for name in (package.partition(".")[0], package)):
                found.append(language)
        except (ImportError, ValueError):
            pass
    try:
        from ..cpp.toolkit import find_toolkit

        find_toolkit()
        found.append("cpp")
    except (TileError, ImportError):
        pass
    return found


def compile_source(request: Request) -> dict[str, Any]:
    """Compile a source, and return bytecode, the name that its locations have, and a launch to start with.

    Compiling cuTile or Triton runs the Python file.
    """
    language = request.choice("language", LANGUAGES)
    text, file = request.text("source"), request.text("file", "kernel.cu" if language == "cpp" else "kernel.py")
    gpu = request.text("gpu", "sm_100", limit=20)
    if not TARGET.match(gpu):
        raise TileError(f"expected a target such as sm_100, got {gpu!r}")
    if language == "cpp":
        return _compile_cpp(text, file, request.texts("instances", []), gpu)
    with _placed(text, file) as path:
        kernel, signature = request.text("kernel", ""), request.text("signature", "")
        return _compile_python(language, path, kernel, signature, gpu)


class _placed:
    """A source as a file: the one that it was read from if that has the same text, else a temporary one."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> str:
        path = Path(self.file)
        if path.is_file() and path.read_text("utf-8", "replace") == self.text:
            return str(path)
        self.folder = TemporaryDirectory()
        stem = re.sub(r"\W", "_", path.stem) or "kernel"
        made = Path(self.folder.name, f"{stem}.py")
        made.write_text(self.text, "utf-8")
        if path.is_file():
            sys.path.insert(0, str(path.parent.resolve()))  # what the file imports is beside it
        return str(made)

    def __exit__(self, *_: object) -> None:
        if self.folder is not None:
            self.folder.cleanup()


def _compile_python(language: str, path: str, kernel: str, signature: str, gpu: str) -> dict[str, Any]:
    import traceback

    try:
        if language == "triton":
            data, launch = _triton(f"{path}::{kernel}", signature)
        else:
            data, launch = _cutile(f"{path}::{kernel}", signature, gpu)
    except TileError:
        raise
    except SystemExit:
        raise TileError("the file ended the program") from None
    except Exception as error:  # from the file, or from the frontend, which says where
        raise TileError("".join(traceback.format_exception_only(error)).strip()) from None
    return {"bytecode": b64encode(data).decode(), "file": os.path.abspath(path), "launch": launch, "messages": []}


def _triton(place: str, signature: str) -> tuple[bytes, dict[str, Any]]:
    """Compile a Triton kernel; return bytecode and arguments to start with."""
    from ..triton.modules import compile_file

    made = compile_file(place, signature)
    params = [{"name": each.name, "type": each.type, "spec": each.argument} for each in made.parameters]
    return made.bytecode, {"convention": "", "params": params}


def _cutile(place: str, signature: str, gpu: str) -> tuple[bytes, dict[str, Any]]:
    """Compile a cuTile kernel; return bytecode and arguments to start with."""
    from ..cutile.modules import bytecode, find_kernel
    from ..cutile.session import on
    from ..cutile.signatures import parse_signature

    with on("none"):
        found = find_kernel(place)
        data = bytecode(found, signature, gpu=gpu)
        return data, {"convention": "cutile", "params": _specs(found, parse_signature(signature))}


def _specs(kernel: Any, values: Sequence[Any]) -> list[dict[str, str]]:
    """Return arguments to start with: an array for each array of the signature; constants are compiled in."""
    from importlib import import_module

    from ..cutile.modules import signature_of
    from ..programs.arrays import HostArray, host_argument

    signature = signature_of(kernel, host_argument(tuple(values)), import_module("cuda.tile.compilation"))
    names = list(kernel._annotated_function.pysig.parameters)
    found = []
    for name, value, constraint in zip(names, values, signature.parameters):
        if type(constraint).__name__ == "ConstantConstraint":
            continue
        if isinstance(value, HostArray):
            sizes = list(value.kept[0])
            shape = "x".join(map(str, sizes[: len(sizes) // 2]))
            element = _element_text(constraint.dtype.name)
            found.append({"name": name, "type": f"{element}[{shape}]", "spec": f"rand:{element}:{shape}"})
        else:
            found.append({"name": name, "type": type(value).__name__, "spec": str(value)})
    return found


def _element_text(name: str) -> str:
    """Return the name in Tile IR of an element type of cuTile."""
    from ..types import SCALARS

    known = {s.row.dtype: s.text for s in SCALARS.values() if s.text != "tf32"}
    short = name.replace("uint", "i").replace("int", "i").replace("bool_", "i1")
    return short if short in SCALARS else known.get(name, known.get(name.replace("float", "f"), "f32"))


def _compile_cpp(text: str, file: str, instances: list[str], gpu: str) -> dict[str, Any]:
    from ..cpp import build

    folders = [os.path.dirname(os.path.abspath(file))] if os.path.isfile(file) else []
    program = build(text + "\n" * ("\n" not in text), instances, include=folders, file=file, gpu=gpu, timeout=50)
    messages = [warning.message for warning in program.warnings]
    return {
        "bytecode": b64encode(program.bytecode).decode(),
        "file": os.path.abspath(file),
        "launch": None,
        "messages": messages,
    }

"""Frontends inside a jail: run a candidate's host code on arrays without data, and note its launches."""

from __future__ import annotations

import bisect
import ctypes
import os
import tempfile
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from ...diag import ErrorKind, TileError
from ...programs.device import THREAD
from ..program import (
    MOST_CONTENT,
    MOST_LAUNCHES,
    ArgumentSlot,
    CandidateProgram,
    Scratch,
    Submission,
    SubmittedLaunch,
    as_json,
)

UNDEFINED = 0xA5
"""The byte that `numpy.empty` is filled with here. Scratch memory that has it everywhere is undefined."""
HOST_FUNCTION = "run"


REHEARSAL = Path(__file__).with_name("rehearsal")
"""A folder with a candidate in each language, which uses what most kernels use."""
PREPARED: dict[str, str] = {}
"""The kinds of candidates that this process is ready for, and what is missing for each."""


def preload(kind: str) -> str:
    """Import what a kind of candidate needs, so that a jail need not; return what is missing on this machine.

    Much is imported, and made by generated code, only when a kernel is compiled, so a kernel of our own is compiled.
    """
    if kind not in PREPARED:
        PREPARED[kind] = _prepare(kind)
    return PREPARED[kind]


def _prepare(kind: str) -> str:
    try:
        if kind == "cpp":
            from ...cpp import compiler  # noqa: F401
            from ...cpp.toolkit import find_toolkit

            find_toolkit()
        elif kind == "triton":
            from ...triton import versions as triton_versions

            triton_versions.require()
            if find_spec("torch") is None:
                return "torch is not installed"
            _skip_hash()
        elif kind == "cutile":
            from ...cutile import versions

            versions.require()
    except TileError as error:
        return "; ".join([error.message, *map(str, error.notes)])
    if kind in ("cutile", "triton"):
        with suppress(Exception):  # a frontend that cannot do it says so when it gets a candidate
            rehearse(kind)
    return ""


def _skip_hash() -> None:
    """Let Triton name itself in its cache, which every jail has for itself: to hash all of Triton takes seconds."""
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):
        module = import_module(name)
        if hasattr(module, "triton_key"):
            setattr(module, "triton_key", lambda: "tilery")  # noqa: B010  # type checkers do not know it


def rehearse(kind: str) -> None:
    """Compile a kernel of our own."""
    array = {"type": "f32", "shape": [8, 8], "strides": [8, 1], "span": 64, "offset": 0}
    shape = [{"name": name, **array} for name in ("x", "y")]
    source = (REHEARSAL / f"{kind}.txt").read_text("utf-8")
    request = {"name": "rehearsal.py", "source": source, "shapes": [shape]}
    engine, make = (_triton(), torch_tensor) if kind == "triton" else (_cutile(), numpy_array)
    with tempfile.TemporaryDirectory() as folder:
        host_launches(request, engine, make, Path(folder))


def compile_candidate(request: dict[str, Any]) -> dict[str, Any]:
    """Return the launches of a candidate for each shape, or an error, as plain data."""
    try:
        return FRONTENDS[request["kind"]](request)
    except TileError as error:
        return {"error": {"kind": error.kind.value, "message": error.message}}
    except MemoryError:
        return {"error": {"kind": ErrorKind.MEMORY.value, "message": "not enough memory to compile it"}}
    except Exception as error:  # of the candidate, or of NVIDIA's frontend
        said = "".join(traceback.format_exception_only(error)).strip()
        return {"error": {"kind": ErrorKind.COMPILER.value, "message": said[:2000]}}
    except SystemExit as error:
        return {"error": {"kind": ErrorKind.COMPILER.value, "message": f"the candidate exited with {error.code}"}}


# ---------------------------------------------------------------- frontends


def compile_cpp(request: dict[str, Any]) -> dict[str, Any]:
    """Compile C++; how it is launched is in the header of the file, which the judge reads."""
    from ...cpp import build

    text = request["source"] if "\n" in request["source"] else request["source"] + "\n"
    made = build(text, request["instances"], file=request["name"], timeout=request["limits"]["seconds"])
    return {**as_json(Submission([made.bytecode], [])), "symbols": dict(made.kernels)}


def compile_cutile(request: dict[str, Any]) -> dict[str, Any]:
    """Run the host function of a cuTile program for each shape, on NumPy arrays."""
    if find_spec("cuda") is not None and find_spec("cuda.tile") is not None:
        # cuTile chose its folder when it was imported, outside the jail.
        import_module("cuda.tile._cext").default_tile_context.config.temp_dir = tempfile.gettempdir()
    mark_numpy()
    return host_launches(request, _cutile(), numpy_array)


def compile_triton(request: dict[str, Any]) -> dict[str, Any]:
    """Run the host function of a Triton program for each shape, on torch tensors."""
    mark_torch()
    return host_launches(request, _triton(), torch_tensor)


def _cutile() -> Callable[[Any], AbstractContextManager[Any]]:
    from ...cutile.session import on

    return on


def _triton() -> Callable[[Any], AbstractContextManager[Any]]:
    from ...triton import on

    return on


FRONTENDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "cpp": compile_cpp,
    "cutile": compile_cutile,
    "triton": compile_triton,
}


# ---------------------------------------------------------------- host code


@dataclass(slots=True)
class Given:
    """An array that a host function gets: zeros, with the layout that the launch will have."""

    value: Any
    address: int
    size: int
    """The bytes from its first element to the end of its memory."""


def host_launches(
    request: dict[str, Any],
    on: Callable[[Any], AbstractContextManager[Any]],
    make: Callable[[dict[str, Any]], Given],
    folder: Path | None = None,
) -> dict[str, Any]:
    """Run the host function of a program once per shape, and return its launches. Files go to a temporary folder."""
    folder = folder or Path(tempfile.gettempdir())
    os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
    file = folder / Path(Path(request["name"]).name).with_suffix(".py")
    file.write_text(request["source"], "utf-8")
    recorder = LaunchRecorder()
    with on(recorder):
        host = _host_function(file)
        for shape in request["shapes"]:
            recorder.begin()
            values = []
            for argument in shape:
                if "shape" not in argument:
                    values.append(argument["value"])
                    continue
                given = make(argument)
                recorder.add_array(argument["name"], given)
                values.append(given.value)
            host(*values)
            recorder.finish()
    return as_json(Submission(list(recorder.modules), recorder.programs))


# ---------------------------------------------------------------- arrays


def mark_numpy() -> None:
    """Make memory that `numpy.empty` returns recognisable."""
    import numpy as np

    def marked(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **options: Any) -> Any:
            array = make(*args, **options)
            if array.dtype.kind in "fiub" and array.flags.c_contiguous:
                array.reshape(-1).view(np.uint8)[...] = UNDEFINED
            return array

        return made

    for name in ("empty", "empty_like"):
        setattr(np, name, marked(getattr(np, name)))


def mark_torch() -> None:
    """Make memory that `torch.empty` returns recognisable."""
    torch = import_module("torch")

    def marked(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **options: Any) -> Any:
            tensor = make(*args, **options)
            tensor.untyped_storage().fill_(UNDEFINED)
            return tensor

        return made

    for home, name in ((torch, "empty"), (torch, "empty_like"), (torch, "empty_strided"), (torch.Tensor, "new_empty")):
        setattr(home, name, marked(getattr(home, name)))


def numpy_array(argument: dict[str, Any]) -> Given:
    """Return an array of NumPy for an argument."""
    import numpy as np

    dtype = _dtype(np, argument["type"])
    size = argument["span"] * dtype.itemsize
    raw = np.zeros(size + 1024, np.uint8)
    start = -raw.ctypes.data % 256 + argument["offset"] * dtype.itemsize
    steps = [stride * dtype.itemsize for stride in argument["strides"]]
    array = np.ndarray(argument["shape"], dtype, raw.data, start, steps)
    return Given(array, array.ctypes.data, raw.nbytes - start)


TORCH_TYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool", "bool": "bool",
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
}  # fmt: skip


def torch_tensor(argument: dict[str, Any]) -> Given:
    """Return a tensor of torch for an argument, which counts as the GPU's."""
    torch = import_module("torch")
    name = argument["type"]
    known = TORCH_TYPES.get(name) or {"i": "int", "u": "uint"}.get(name[0], "") + name[1:]
    if not hasattr(torch, known):
        raise TileError(f"torch has no type for arrays of {name}", kind=ErrorKind.UNSUPPORTED)
    whole = torch.zeros(argument["span"] + argument["offset"], dtype=getattr(torch, known), device="cuda")
    tensor = whole.as_strided(argument["shape"], argument["strides"], argument["offset"])
    return Given(tensor, tensor.data_ptr(), argument["span"] * whole.element_size())


def _host_function(file: Path) -> Callable[..., Any]:
    spec = spec_from_file_location(file.stem, file.resolve())
    assert spec is not None and spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    host: Callable[..., Any] | None = getattr(loaded, HOST_FUNCTION, None)
    if not callable(host):
        note = f"a candidate in Python needs a function '{HOST_FUNCTION}' that takes the arguments and launches kernels"
        raise TileError(note, kind=ErrorKind.ARGUMENT)
    return host


def _dtype(np: Any, name: str) -> Any:
    from ..problem import element_named

    element = element_named(name)
    if name[0] == "u":
        return np.dtype(f"u{element.bits // 8}")
    try:
        return np.dtype(element.row.dtype)
    except TypeError:
        return np.dtype(getattr(import_module("ml_dtypes"), element.row.dtype))


class LaunchRecorder:
    """An engine that notes launches instead of executing them."""

    def __init__(self) -> None:
        self.modules: dict[bytes, int] = {}
        self.programs: list[CandidateProgram] = []
        self.begin()

    def begin(self) -> None:
        """Start the program of a shape."""
        self.calls: list[Any] = []
        self.arrays: list[tuple[int, int, str]] = []
        self.scratch: list[tuple[int, int, bytes]] = []
        """Address, size and first content of memory of the candidate's own."""
        self.alive: list[object] = []

    def add_array(self, name: str, given: Given) -> None:
        """Note where an argument is."""
        self.alive.append(given)
        self.arrays.append((given.address, given.size, name))

    def __call__(self, call: Any) -> None:
        """Note a launch."""
        if len(self.calls) >= MOST_LAUNCHES:
            raise TileError(f"more than {MOST_LAUNCHES} launches")
        # Memory that is freed could be used again for something else.
        self.alive.append(getattr(THREAD, "arguments", None))
        for extent in call.memory:
            if extent.pointers:
                raise TileError("a kernel that takes a list of arrays cannot be judged", kind=ErrorKind.UNSUPPORTED)
            if self._array_at(extent.address) is None and extent.size:
                content = ctypes.string_at(extent.address, extent.size)
                self.scratch.append((extent.address, extent.size, content))
        self.calls.append(call)

    def finish(self) -> None:
        """Make the program of this shape."""
        merged = _merge(self.scratch)
        made = CandidateProgram(scratch={f"scratch{n}": _scratch(each[2]) for n, each in enumerate(merged)})
        for call in self.calls:
            number = self.modules.setdefault(call.bytecode, len(self.modules))
            params = call.module.entry(call.entry).function_type.params
            slots = tuple(self._slot(kind, value, merged) for kind, value in zip(params, call.values))
            made.launches.append(SubmittedLaunch(number, call.entry, tuple(call.grid), slots))
        self.programs.append(made)

    def _array_at(self, address: int) -> tuple[str, int] | None:
        for start, size, name in self.arrays:
            if start <= address < start + size:
                return name, address - start
        return None

    def _slot(self, kind: Any, value: Any, merged: list[tuple[int, int, bytes]]) -> ArgumentSlot:
        from ...types import Ptr

        if not isinstance(kind.element, Ptr):
            return ArgumentSlot(value=value)
        if (found := self._array_at(value)) is not None:
            return ArgumentSlot(*found)
        at = bisect.bisect_right([each[0] for each in merged], value) - 1
        if at >= 0 and value <= merged[at][0] + merged[at][1]:
            return ArgumentSlot(f"scratch{at}", value - merged[at][0])
        raise TileError("a kernel gets an address that is in no array", kind=ErrorKind.ARGUMENT)


def _merge(found: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """Join memory that overlaps; the content that was seen first counts."""
    made: list[tuple[int, bytearray]] = []
    for address, size, content in sorted(found, key=lambda each: each[0]):
        if made and address < made[-1][0] + len(made[-1][1]):
            start, known = made[-1]
            known += content[start + len(known) - address :]
        else:
            made.append((address, bytearray(content[:size])))
    return [(address, len(content), bytes(content)) for address, content in made]


def _scratch(content: bytes) -> Scratch:
    if content.count(content[0]) == len(content):
        return Scratch(len(content), None if content[0] == UNDEFINED else content[:1])
    if len(content) > MOST_CONTENT:
        raise TileError(f"scratch memory has a content of {len(content)} bytes; the limit is {MOST_CONTENT}")
    return Scratch(len(content), content)

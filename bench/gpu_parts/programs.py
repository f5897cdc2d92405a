"""Run the programs of `gpu_kernels.toml` without a GPU, and write down their launches: bytecode, grid and arguments.

Memory is described, not copied: floats are drawn again where a launch is repeated, integers are kept if they are few.
"""

from __future__ import annotations

import base64
import ctypes
import importlib
import importlib.util
import json
import re
import sys
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

HERE = Path(__file__).parent
LIST = HERE.parent / "gpu_kernels.toml"
KEPT = 160 << 10
"""Integers are kept if they take at most this many bytes, compressed; more are drawn again between their limits."""
LARGEST = 6 << 30
"""The most bytes of the memory of a launch."""


def read_list() -> dict[str, Any]:
    """Return the list: `programs`, `held_out` families and `kernels`."""
    return tomllib.loads(LIST.read_text("utf-8"))


def stem(program: dict[str, Any]) -> str:
    """Return how the names of a program's kernels start."""
    return re.sub(r"\W+", "-", program["name"])


# ---------------------------------------------------------------- what a program may name


def tensors(torch: Any, filled: bool) -> dict[str, Any]:
    """Return the functions that make arguments. Memory that is not `filled` is only reserved."""
    device = "cuda"

    def floats(dtype: Any, *shape: int) -> Any:
        if not filled:
            return torch.empty(*shape, dtype=dtype, device=device)
        return (0.5 * torch.randn(*shape, device=device)).to(dtype)

    def integers(dtype: Any, high: int, *shape: int) -> Any:
        return torch.randint(0, high, shape, dtype=dtype, device=device)

    def grad(value: Any) -> Any:
        return value if filled else value.requires_grad_()

    return {
        "bf16": lambda *shape: floats(torch.bfloat16, *shape),
        "f16": lambda *shape: floats(torch.float16, *shape),
        "f32": lambda *shape: floats(torch.float32, *shape),
        "f8": lambda *shape: floats(torch.float8_e4m3fn, *shape),
        "i8": lambda *shape: torch.randint(-8, 8, shape, dtype=torch.int8, device=device),
        "i32": lambda high, *shape: integers(torch.int32, high, *shape),
        "i64": lambda high, *shape: integers(torch.int64, high, *shape),
        "grad": grad,
        "torch": torch,
        "F": torch.nn.functional,
        "DEVICE": device,
    }


def arguments(program: dict[str, Any], *, filled: bool) -> dict[str, Any]:
    """Return the names that `with` of a program binds."""
    import torch

    torch.manual_seed(1)
    names = tensors(torch, filled)
    exec(program["with"], names)
    return names


def backward(value: Any) -> None:
    """Run the backward pass of a result, or of the first of several."""
    import torch

    first = next(v for v in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(v, torch.Tensor))
    first.backward(torch.empty_like(first) if first.dim() else torch.ones_like(first))


def start(kernel: Any, grid: tuple[int, ...], *args: Any) -> None:
    """Launch a kernel."""
    import cuda.tile as ct

    ct.launch(0, grid, kernel, args)


def called(program: dict[str, Any], checkouts: dict[str, Path]) -> Callable[[], Any]:
    """Return the call of a program."""
    place, _, call = program["run"].partition(":")
    names = arguments(program, filled=False)
    if place == "own":
        found = vars(_file(HERE / "own_more.py"))
    elif place.endswith(".py"):
        root, _, rest = place.partition("/")
        found = vars(_file(checkouts[root] / rest))
    else:
        found = vars(importlib.import_module(place))
    known = {**found, "backward": backward, "start": start, **names}
    return lambda: eval(call, known)


def _file(path: Path) -> Any:
    """Import a file, with its folder on the path."""
    name = "program_" + re.sub(r"\W", "_", str(path))
    if name not in sys.modules:
        specification = importlib.util.spec_from_file_location(name, path)
        assert specification is not None and specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        with patch.object(sys, "path", [str(path.parent), *sys.path]):
            specification.loader.exec_module(module)
    return sys.modules[name]


# ---------------------------------------------------------------- launches


def describe(call: Any) -> dict[str, Any]:
    """Describe a launch as JSON can hold it."""
    from tilery.types import Ptr, Tile

    kinds = call.module.entry(call.entry).function_type.params
    elements = {
        int(value): kind.element.pointee
        for kind, value in zip(kinds, call.values)
        if isinstance(kind, Tile) and isinstance(kind.element, Ptr)
    }
    joined: list[dict[str, Any]] = []
    for each in sorted(call.memory, key=lambda each: each.address):
        end = each.address + each.size
        if joined and each.address < joined[-1]["end"]:
            joined[-1]["end"] = max(joined[-1]["end"], end)
            joined[-1]["names"].append(each.name)
        else:
            joined.append({"start": each.address, "end": end, "names": [each.name], "pointers": []})
        joined[-1]["pointers"] += [each.address + offset for offset in each.pointers]

    def pointer(address: int) -> dict[str, int]:
        for number in reversed(range(len(joined))):  # the end of a buffer may be the start of the next one
            if joined[number]["start"] <= address <= joined[number]["end"]:
                return {"buffer": number, "offset": address - joined[number]["start"]}
        raise ValueError(f"the pointer {address:#x} does not point to an array")

    if sum(b["end"] - b["start"] for b in joined) > LARGEST:
        raise ValueError("the launch needs too much memory")
    buffers = []
    for b in joined:
        element = next((e for a, e in elements.items() if b["start"] <= a < b["end"]), None)
        made = {"size": b["end"] - b["start"], "remainder": b["start"] % 256, "names": b["names"]}
        made["pointers"] = [[at - b["start"], pointer(ctypes.c_uint64.from_address(at).value)] for at in b["pointers"]]
        made["fill"] = _fill(element, b["start"], made["size"])
        buffers.append(made)
    values = [
        pointer(int(v)) if isinstance(k, Tile) and isinstance(k.element, Ptr) else v for k, v in zip(kinds, call.values)
    ]
    return {"entry": call.entry, "grid": call.grid, "arguments": values, "buffers": buffers}


def _fill(element: Any, address: int, size: int) -> dict[str, Any]:
    if element is None or element.is_float:
        return {"kind": "float", "element": "bf16" if element is None else element.name}
    data = ctypes.string_at(address, size)
    packed = zlib.compress(data, 6)
    if len(packed) <= KEPT:
        return {"kind": "bytes", "data": base64.b64encode(packed).decode("ascii")}
    width = element.row.memory_bits // 8
    content = np.frombuffer(data[: size // width * width], f"i{width}")
    return {"kind": "integer", "width": width, "low": int(content.min()), "high": int(content.max())}


@contextmanager
def recording(seen: list[Any], *, execute: bool = False) -> Iterator[None]:
    """Describe every launch, and run it only to `execute`. cuTile's tuner takes its first configuration."""
    from tilery.cutile import on
    from tilery.programs.launches import engine_named

    run = engine_named("cpu" if execute else "none")

    def note(call: Any) -> None:
        seen.append((call.bytecode, describe(call)))
        run(call)

    with on(note, capability=(9, 0)), ExitStack() as stack:
        tuner = importlib.import_module("cuda.tile.tune._tune")
        for name, answer in (("_benchmark", 1.0), ("benchmark_with_timeout", (1.0, 1e-6))):
            stack.enter_context(patch.object(tuner, name, _even(getattr(tuner, name), answer)))
        yield


def _even(original: Any, answer: Any) -> Callable[..., Any]:
    """Let all configurations take the same time."""

    def benchmark(*args: Any, **options: Any) -> Any:
        original(*args, **options)  # compiles the kernel, and may refuse a configuration
        return answer

    return benchmark


def export(folder: Path, checkouts: dict[str, Path], only: str = "") -> tuple[list[dict[str, Any]], list[str]]:
    """Write each kernel of the programs, with its last launch; return what was found and what failed."""
    folder.mkdir(parents=True, exist_ok=True)
    for each in (checkouts["tilegym"] / "src", checkouts["liger"] / "src"):
        sys.path.insert(0, str(each.resolve()))
    found, failed = [], []
    for program in read_list()["programs"]:
        if only and not re.search(only, program["name"]):
            continue
        seen: list[Any] = []
        try:
            with recording(seen, execute=program.get("execute", False)):
                called(program, checkouts)()
        except Exception as error:  # of a checkout, which raises what it likes; also because nothing was computed
            failed.append(f"{program['name']}: {type(error).__name__}: {str(error)[:300]}")
        last = {re.split(r"_Kt|_Kv", facts["entry"])[0]: (data, facts) for data, facts in seen}
        for kernel, (data, facts) in last.items():
            name = f"{stem(program)}--{kernel.strip('_')}"
            facts |= {"name": name, "program": program["name"], "family": program["family"]}
            (folder / f"{name}.tileirbc").write_bytes(data)
            (folder / f"{name}.json").write_text(json.dumps(facts), "utf-8")
            found.append(facts)
    return found, failed

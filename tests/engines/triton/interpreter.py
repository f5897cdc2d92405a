"""Run Triton IR as the engine writes it, with NumPy: enough for kernels that compute, reduce and print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = Any
DTYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
    "xori": np.bitwise_xor, "maxsi": np.maximum, "minsi": np.minimum, "addf": np.add, "subf": np.subtract,
    "mulf": np.multiply,
}  # fmt: skip
COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "sgt": np.greater, "slt": np.less, "sge": np.greater_equal,
    "ogt": np.greater, "olt": np.less,
    "ule": lambda a, b: a.view(f"u{a.itemsize}") <= b.view(f"u{b.itemsize}"),
}  # fmt: skip


def parse_type(text: str) -> tuple[tuple[int, ...], Any]:
    """Shape and NumPy type of a type; pointers are addresses."""
    inner = re.fullmatch(r"tensor<((?:\d+x)+)(.+)>", text)
    shape = tuple(map(int, inner[1].split("x")[:-1])) if inner else ()
    element = inner[2] if inner else text
    return shape, np.dtype(np.int64 if element.startswith("!tt.ptr") else DTYPES[element])


class Interpreter:
    """Runs a function for one tile block after the other; `memory` is what its pointers address."""

    def __init__(self, text: str, size: int) -> None:
        self.lines = [line.strip() for line in text.splitlines()[2:-2]]
        self.memory = bytearray(size)
        self.values: dict[str, Array] = {}
        self.block = (0, 0, 0)

    def run(self, block: tuple[int, int, int], **arguments: int) -> None:
        self.block = block
        self.values = {f"%{name}": np.array(value, np.int64) for name, value in arguments.items()}
        with np.errstate(all="ignore"):
            self.execute(iter(self.lines))

    def execute(self, lines: Iterator[str]) -> list[Array]:
        """Run lines up to the end of a region; return what it yields."""
        for line in lines:
            if line.startswith(("scf.yield", "tt.return")):
                return [self.values[name] for name in re.findall(r"%\w+", line)]
            if line == "gpu.barrier":
                continue
            result, _, rest = line.partition(" = ")
            if rest.startswith('"tt.reduce"'):
                self.values[result] = self.reduce(rest, lines)
            elif rest.startswith("scf.for"):
                self.values |= self.loop(result, rest, lines)
            elif line.startswith("tt.store"):
                self.store(*(self.values[name] for name in re.findall(r"%\w+", line)))
            else:
                self.values[result] = self.evaluate(rest)
        return []

    def reduce(self, head: str, lines: Iterator[str]) -> Array:
        source, axis = re.match(r'"tt.reduce"\((%\w+)\) <{axis = (\d+)', head).groups()  # type: ignore[union-attr]
        body = []
        while not (line := next(lines)).startswith("})"):
            body.append(line)
        value = self.values[source]
        if len(body) == 2:  # the only element
            return value.reshape(())
        name = re.search(r"arith\.(\w+)", body[1])
        assert name is not None and len(body) == 3
        return np.frompyfunc(BINARY[name[1]], 2, 1).reduce(value, axis=int(axis)).astype(value.dtype)

    def loop(self, result: str, head: str, lines: Iterator[str]) -> dict[str, Array]:
        bounds = re.match(r"scf.for (%\w+) = (%\w+) to (%\w+) step (%\w+) iter_args\((.*?)\)", head)
        assert bounds is not None
        index, *limits = bounds.groups()[:4]
        pairs = re.findall(r"(%\w+) = (%\w+)", bounds[5])
        state = [self.values[start] for _, start in pairs]
        body = []
        depth = 1
        while depth:
            body.append(next(lines))
            depth += body[-1].count("{") - body[-1].count("}")
        for i in range(*(int(self.values[name]) for name in limits)):
            self.values |= {index: np.array(i, np.int32)} | {name: v for (name, _), v in zip(pairs, state)}
            state = self.execute(iter(body))
        name = result.partition(":")[0]
        return {name: state[0]} if len(state) == 1 else {f"{name}#{i}": v for i, v in enumerate(state)}

    def store(self, address: Array, value: Array, mask: Array) -> None:
        for at, word, chosen in zip(address.flat, value.reshape(-1), mask.flat):
            if chosen:
                self.memory[at : at + word.nbytes] = word.tobytes()

    def evaluate(self, text: str) -> Array:
        """The result of an operation without regions."""
        name, _, rest = text.partition(" ")
        args = [self.values[found] for found in re.findall(r"%\w+(?:#\d+)?", rest)]
        shape, dtype = parse_type(re.split(r" -> | to | : |, ", text)[-1]) if " : " in text else ((), np.dtype(bool))
        kind, _, operation = name.partition(".")
        if operation == "constant":
            number = re.match(r"(?:dense<)?([^> ]+)", rest)
            assert number is not None
            word = {"true": 1, "false": 0}.get(number[1]) if dtype.kind == "b" else float(number[1])
            return np.full(shape, int(word) if dtype.kind in "ib" else word, dtype)  # type: ignore[arg-type]
        if operation in BINARY:
            return np.asarray(BINARY[operation](*args), args[0].dtype)
        if operation in ("cmpi", "cmpf"):
            return np.asarray(COMPARE[rest.partition(",")[0]](*args))
        if operation == "select":
            return np.where(*args).astype(args[1].dtype)
        return SIMPLE[f"{kind}.{operation}"](self, rest, args, shape, dtype)


def _extended(self: Interpreter, rest: str, args: list[Array], shape: tuple[int, ...], dtype: Any) -> Array:
    (value,) = args
    return (value if value.dtype == bool else value.view(f"u{value.itemsize}")).astype(dtype)


def _moved(self: Interpreter, rest: str, args: list[Array], shape: tuple[int, ...], dtype: Any) -> Array:
    element = re.search(r"!tt.ptr<(\w+)>", rest)
    assert element is not None
    return args[0] + args[1].astype(np.int64) * np.dtype(DTYPES[element[1]]).itemsize


def _added(self: Interpreter, rest: str, args: list[Array], shape: tuple[int, ...], dtype: Any) -> Array:
    address, amount = int(args[0]), int(args[1])
    old = int.from_bytes(self.memory[address : address + 8], "little")
    self.memory[address : address + 8] = (old + amount).to_bytes(8, "little")
    return np.array(old, np.int64)


SIMPLE: dict[str, Callable[..., Array]] = {
    "tt.make_range": lambda self, rest, args, shape, dtype: np.arange(shape[0], dtype=dtype),
    "tt.splat": lambda self, rest, args, shape, dtype: np.full(shape, args[0]),
    "tt.broadcast": lambda self, rest, args, shape, dtype: np.broadcast_to(args[0], shape),
    "tt.reshape": lambda self, rest, args, shape, dtype: args[0].reshape(shape),
    "tt.expand_dims": lambda self, rest, args, shape, dtype: args[0].reshape(shape),
    "tt.bitcast": lambda self, rest, args, shape, dtype: args[0] if "!tt.ptr" in rest else args[0].view(dtype),
    "tt.get_program_id": lambda self, rest, args, shape, dtype: np.array(self.block["xyz".index(rest[0])], np.int32),
    "tt.addptr": _moved,
    "tt.atomic_rmw": _added,
    "arith.extui": _extended,
    "arith.extsi": lambda self, rest, args, shape, dtype: args[0].astype(dtype),
    "arith.trunci": lambda self, rest, args, shape, dtype: args[0].astype(dtype),
    "arith.sitofp": lambda self, rest, args, shape, dtype: args[0].astype(dtype),
}

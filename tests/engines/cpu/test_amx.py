"""Products in the tile registers of AMX: compiled for such a processor, and run here with its instructions emulated."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import llvmlite.binding as llvm

from engines.cpu.test_products import module, run
from tilery.attrs import Signedness
from tilery.engines.cpu import launch
from tilery.engines.cpu.abi import ALLOWED_SYMBOLS
from tilery.engines.cpu.native import compiler
from tilery.engines.cpu.native.build import lower_kernel
from tilery.engines.cpu.native.compiler import compile_texts, host
from tilery.engines.cpu.native.objects import Code
from tilery.engines.cpu.native.targets import TARGETS
from tilery.ir import walk
from tilery.ops import MmaI

REGISTERS = np.zeros((8, 16, 64), np.uint8)
CONFIGURED: list[bool] = []
needs_avx512 = pytest.mark.skipif("avx512bf16" not in host().features, reason="the rest of the code needs AVX-512")


def ldtilecfg(where: int) -> None:
    assert where % 64 == 0
    raw = np.frombuffer(ctypes.string_at(where, 64), np.uint8)
    assert raw[0] == 1 and not raw[1:16].any()  # palette 1, from row 0 on
    assert (raw[16:32].view(np.uint16) == 64).all() and (raw[48:56] == 16).all()
    assert not raw[32:48].any() and not raw[56:].any()
    CONFIGURED.append(True)


def lines(where: int, stride: int) -> list[Any]:
    assert CONFIGURED
    return [
        np.ctypeslib.as_array(ctypes.cast(where + stride * r, ctypes.POINTER(ctypes.c_uint8)), (64,)) for r in range(16)
    ]


def tileloadd64(number: int, where: int, stride: int) -> None:
    REGISTERS[number] = lines(where, stride)


def tilestored64(number: int, where: int, stride: int) -> None:
    for line, row in zip(lines(where, stride), REGISTERS[number]):
        line[:] = row


def tilerelease() -> None:
    CONFIGURED.pop()


def integers(left: Any, right: Any) -> Any:
    def dot(to: int, a: int, b: int) -> None:
        x = REGISTERS[a].view(left).reshape(16, 64).astype(np.int64)
        y = REGISTERS[b].view(right).reshape(16, 16, 4).astype(np.int64)
        total = REGISTERS[to].view(np.int32)
        total[:] = (total + x @ y.transpose(0, 2, 1).reshape(64, 16)).astype(np.int32)

    return dot


def tdpbf16ps(to: int, a: int, b: int) -> None:
    def wide(number: int) -> Any:
        return (REGISTERS[number].view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    x, y = wide(a), wide(b).reshape(16, 16, 2)
    total = REGISTERS[to].view(np.float32)
    total[:] = total + x @ y.transpose(0, 2, 1).reshape(32, 16)


PRODUCT = ctypes.CFUNCTYPE(None, ctypes.c_int8, ctypes.c_int8, ctypes.c_int8)
MOVE = ctypes.CFUNCTYPE(None, ctypes.c_int8, ctypes.c_int64, ctypes.c_int64)
INSTRUCTIONS = {
    "ldtilecfg": ctypes.CFUNCTYPE(None, ctypes.c_int64)(ldtilecfg),
    "tilerelease": ctypes.CFUNCTYPE(None)(tilerelease),
    "tileloadd64": MOVE(tileloadd64),
    "tilestored64": MOVE(tilestored64),
    "tdpbssd": PRODUCT(integers(np.int8, np.int8)),
    "tdpbsud": PRODUCT(integers(np.int8, np.uint8)),
    "tdpbusd": PRODUCT(integers(np.uint8, np.int8)),
    "tdpbuud": PRODUCT(integers(np.uint8, np.uint8)),
    "tdpbf16ps": PRODUCT(tdpbf16ps),
}


def run_emulated(made: Any, args: list[Any]) -> tuple[Any, str]:
    """Run a kernel that was lowered for AMX; return the result and the text."""
    lowered = lower_kernel(made, made.entries[0], False, TARGETS["amx"])
    assert lowered is not None
    text, symbols = lowered.text, set(ALLOWED_SYMBOLS)
    for name, function in INSTRUCTIONS.items():
        text = text.replace(f"@llvm.x86.{name}(", f"@emulated_{name}(")
        llvm.add_symbol(f"emulated_{name}", ctypes.cast(function, ctypes.c_void_p).value)
        symbols.add(f"emulated_{name}")
    kernel = launch.load(made).kernel()
    (data,) = compile_texts([text], host())
    kernel.lowered, kernel.code = lowered, Code((data, frozenset(symbols)))
    kernel.address = kernel.code.address("run")
    out = np.zeros_like(args[-1])
    kernel.launch(1, [*args[:-1], out], threads=1)
    assert not CONFIGURED
    return out, lowered.text


@needs_avx512
@pytest.mark.parametrize("signs", ["signed signed", "signed unsigned", "unsigned signed", "unsigned unsigned"])
@pytest.mark.parametrize(
    ("shape", "start", "transposed"),
    [
        ((32, 64, 64), "0", False),
        ((16, 32, 128), "-7", False),
        ((64, 32, 64), "5", True),
        ((16, 32, 64), "2147483000", True),
    ],
)
def test_integers(signs: str, shape: tuple[int, int, int], start: str, transposed: bool) -> None:
    made, args = module("mmai", "i8", "i32", *shape, start, 1, transposed)
    for o in walk(made):
        if isinstance(o, MmaI):
            o.signedness_lhs, o.signedness_rhs = (Signedness[sign.upper()] for sign in signs.split())
    found, text = run_emulated(made, args)
    letters = "".join(sign[0] for sign in signs.split())
    assert f"tdpb{letters}d" in text and found.tobytes() == run(made, args).tobytes()


@needs_avx512
@pytest.mark.parametrize(("shape", "transposed"), [((32, 64, 64), False), ((16, 32, 32), True), ((16, 64, 128), False)])
def test_bf16(shape: tuple[int, int, int], transposed: bool) -> None:
    made, args = module("mmaf", "bf16", "f32", *shape, "0.0", 3, transposed)
    found, text = run_emulated(made, args)
    left, right = (x.astype(np.float64) for x in args[:2])
    bound = np.abs(left) @ np.abs(right.T if transposed else right)
    assert "tdpbf16ps" in text
    assert (np.abs(found.astype(np.float64) - run(made, args).astype(np.float64)) <= bound * 2e-6).all()


def test_what_does_not_fill_registers_goes_another_way() -> None:
    for made, _ in (
        module("mmai", "i8", "i32", 8, 64, 64, "0", 0, False),
        module("mmai", "i8", "i32", 32, 64, 32, "0", 0, False),
        module("mmaf", "bf16", "f32", 32, 16, 64, "0.0", 0, False),
    ):
        lowered = lower_kernel(made, made.entries[0], False, TARGETS["amx"])
        assert lowered is not None and "ldtilecfg" not in lowered.text


def test_it_compiles() -> None:
    made, _ = module("mmai", "i8", "i32", 32, 64, 64, "0", 0, False)
    text = launch.emit(made, None, "asm", target="amx")
    assert isinstance(text, str) and "tdpbsud" in text and "ldtilecfg" in text and "tilerelease" in text


@pytest.mark.parametrize("allowed", [False, True])
def test_the_system_has_to_allow_it(allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: {"avx2": True, "amx-tile": True, "amx-int8": True})
    monkeypatch.setattr(compiler, "_may_use_tiles", lambda: allowed)
    assert ("amx-int8" in host.__wrapped__().features) is allowed

"""Each operation of Triton means the same in Tile IR: small kernels on both engines, against torch and NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

import tilery.triton  # noqa: E402
from tilery import TileError  # noqa: E402

with tilery.triton.on("none"):  # `autotune` of older releases asks for a driver
    from triton_frontend import kernels

SPECIAL = [0.0, -0.0, 1.0, -1.5, 2.5, 0.5, math.inf, -math.inf, 1e-40, 448.0, 500.0, 1e5, -1e9, 0.1, 3.0, -7.25]


@pytest.fixture(params=["reference", "cpu"], autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "cpu":
        pytest.importorskip("llvmlite", reason="engine cpu needs llvmlite")
    with tilery.triton.on(request.param):
        torch.manual_seed(0)
        yield request.param


def new(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.zeros(*shape, dtype=dtype, device="cuda")


def random(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, device="cuda").to(dtype)


def close(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(found, wanted.to(found.dtype).cuda(), atol=tolerance, rtol=tolerance, equal_nan=True)


def test_add() -> None:
    x, y, out = random(1000), random(1000), new(1000)
    kernels.add[(4,)](x, y, out, 1000, 256)
    close(out, x + y, 0)


def test_scans() -> None:
    x, y, out = random(64), random(64), new(192)
    kernels.scans[(1,)](x, y, out, 64)
    close(out[:64], x.cumsum(0))
    close(out[64:128], x.flip(0).cumsum(0).flip(0))
    total, wanted = 0.0, []
    for a, b in zip(x.tolist(), y.tolist()):
        total = total * a + b
        wanted.append(total)
    close(out[128:], torch.tensor(wanted), 1e-4)


def test_a_reduction_that_does_not_commute_goes_in_order() -> None:
    x, y, out = random(64), random(64), new(2)
    kernels.reduce_in_order[(1,)](x, y, out, 64)
    total = 0.0
    for a, b in zip(x.double().tolist(), y.double().tolist()):
        total = total * a + b
    close(out, torch.tensor([math.prod(x.double().tolist()), total]), 1e-4)


def test_reductions() -> None:
    x, out = random(8, 16), new(64)
    kernels.reductions[(1,)](x, out, 8, 16)
    close(out[:8], x.sum(1))
    close(out[8:24], x.amax(0), 0)
    close(out[24:32], x.argmax(1).float(), 0)
    close(out[32:40], x.argmin(1).float(), 0)
    close(out[40:42], torch.stack([x.sum(), x.min()]))


def test_sort_and_flip() -> None:
    x, out = random(64), new(128)
    kernels.sort_and_flip[(1,)](x, out, 64)
    close(out, torch.cat([x.sort().values, x.flip(0)]), 0)


def test_gather_and_histogram() -> None:
    x = torch.arange(64, device="cuda", dtype=torch.int32) * 3
    at = torch.randint(0, 16, (64,), device="cuda", dtype=torch.int32)
    out = new(80, dtype=torch.int32)
    kernels.gather_and_count[(1,)](x, at, out, 64)
    assert out[:64].tolist() == x[at.long()].tolist()
    assert out[64:].tolist() == torch.bincount(at.long(), minlength=16).tolist()


def test_shapes() -> None:
    x, y, out = random(64), random(64), new(256)
    kernels.join_and_split[(1,)](x, y, out, 64)
    close(out[:128], torch.stack([x, y], 1).flatten(), 0)
    close(out[128:192], x - y, 0)
    close(out[192:], x.reshape(4, 2, 8).permute(2, 0, 1).flatten(), 0)


def test_integers() -> None:
    x = np.random.default_rng(1).integers(-50, 50, 64).astype(np.int32)
    y = np.where(np.arange(64) % 2, 7, -3).astype(np.int32)
    out = new(384, dtype=torch.int32)
    kernels.integers[(1,)](torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda(), out, 64)
    found = out.cpu().numpy().reshape(6, 64)
    quotient = np.trunc(x / y).astype(np.int32)
    u, v = x.view(np.uint32).astype(np.uint64), y.view(np.uint32).astype(np.uint64)
    assert (found[0] == quotient).all() and (found[1] == x - quotient * y).all()
    assert (found[2] == ((x >> 2) ^ (y << 3) | (x & y))).all()
    assert (found[3].view(np.uint32) == u // v).all() and (found[4].view(np.uint32) == u * v >> np.uint64(32)).all()
    assert (found[5] == (u > v) + np.abs(x) + np.minimum(x, y)).all()


def test_comparisons_and_nan() -> None:
    x, y = torch.tensor([1.0, 2.0, math.nan, 3.0] * 8).cuda(), torch.tensor([2.0, 2.0, 1.0, math.nan] * 8).cuda()
    out = new(32, dtype=torch.int32)
    kernels.comparisons[(1,)](x, y, out, 32)
    assert out[:4].tolist() == [1 + 4, 2 + 8, 4, 4]
    wide = new(128)
    kernels.extremes[(1,)](x, y, wide, 32)
    close(wide[:4], torch.tensor([2.0, 2.0, 1.0, 3.0]), 0)
    close(wide[32:36], torch.tensor([1.0, 2.0, math.nan, math.nan]), 0)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8e5", "float8e4nv"])
def test_conversions_round_to_the_nearest(name: str) -> None:
    import triton.language as tl

    kinds = {"float8e5": torch.float8_e5m2, "float8e4nv": torch.float8_e4m3fn}
    kind = kinds.get(name) or getattr(torch, name)
    x = torch.tensor(SPECIAL).cuda()
    if name in kinds:
        x = x.clamp(-400, 400)  # torch and GPUs disagree about overflow
    out = new(16)
    kernels.round_trip[(1,)](x, out, 16, getattr(tl, name))
    close(out, x.to(kind).float(), 0)


def test_fp8_saturates() -> None:
    import triton.language as tl

    x, out = torch.tensor(SPECIAL).cuda(), new(16)
    kernels.round_trip[(1,)](x, out, 16, tl.float8e4nv)
    assert out[6:8].tolist() == [448.0, -448.0] and out[11].item() == 448.0


def test_rounding_towards_zero() -> None:
    x = torch.tensor([0.1, -0.1, 1e5, -3.7, 2.0**-30, 65519.0, 1 / 3, 2049.5]).cuda()
    out = new(16)
    kernels.round_to_zero[(1,)](x, out, 8)
    near = x.half()
    further = near.float().abs() > x.abs()
    wanted = torch.where(further, (near.view(torch.int16) - 1).view(torch.float16), near).float()
    close(out[:8], wanted, 0)
    close(out[8:], x.trunc(), 0)


def test_products() -> None:
    x, y, out = random(16, 16), random(16, 16), new(4, 16, 16)
    kernels.dots[(1,)](x, y, out)
    close(out[0], x @ y, 1e-4)
    close(out[1], x.half().float() @ y.half().float(), 1e-3)
    close(out[2], x.bfloat16().float() @ y.bfloat16().float() + x, 1e-3)
    cut = [(v.view(torch.int32) & -(1 << 13)).view(torch.float32) for v in (x, y)]
    close(out[3], cut[0] @ cut[1], 1e-4)


def test_integer_and_batched_products() -> None:
    x, y = (torch.randint(-128, 128, (32, 32), device="cuda").to(torch.int8) for _ in range(2))
    out = new(32, 32, dtype=torch.int32)
    kernels.int_dot[(1,)](x, y, out)
    assert (out == x.int() @ y.int()).all()
    a, b, wide = random(4, 16, 16), random(4, 16, 16), new(4, 16, 16)
    kernels.batched_dot[(1,)](a, b, wide)
    close(wide, a @ b, 1e-4)


def test_scaled_products() -> None:
    x, y = (torch.randn(shape).cuda().to(torch.float8_e4m3fn) for shape in ((32, 64), (64, 32)))
    xs, ys = (torch.randint(120, 132, (32, 2), device="cuda").to(torch.uint8) for _ in range(2))
    out = new(32, 32)
    kernels.scaled_dot[(1,)](x, xs, y, ys, out)
    scale = [torch.exp2(s.float() - 127).repeat_interleave(32, 1) for s in (xs, ys)]
    wanted = (x.float() * scale[0]) @ (y.float() * scale[1].T)
    torch.testing.assert_close(out, wanted, atol=1e-2, rtol=1e-3)


def test_control_flow() -> None:
    x, y, out = random(8), random(8), new(8)
    kernels.early_return[(8,)](x, y, out)
    close(out, torch.where(x > 0, 0.0, torch.where(y > 0, 5.0, 1.0)), 0)
    n = torch.tensor([1, 2, 3, 7, 27, 97], dtype=torch.int32).cuda()
    steps = new(6, dtype=torch.int32)
    kernels.collatz[(6,)](n, steps)
    assert steps.tolist() == [0, 1, 7, 16, 111, 118]
    kernels.calls[(8,)](x, out)
    close(out, torch.where(torch.arange(8) > 3, x * 2, x + 1), 0)


def test_atomics() -> None:
    x = torch.arange(1, 65, device="cuda", dtype=torch.int32)
    out = new(40, dtype=torch.int32)
    out[32:36] = -1
    kernels.atomics[(2,)](x, out, 64)
    groups = x.reshape(8, 8).T
    assert out[:8].tolist() == (2 * groups.sum(1)).tolist()
    assert out[8:16].tolist() == groups.amax(1).tolist() and out[16:24].tolist() == [0] * 8
    assert out[28:32].tolist() == [0] * 4  # each is applied twice
    assert out[36:38].tolist() == [3, 9]


def test_descriptors() -> None:
    pytest.importorskip("triton.tools.tensor_descriptor", reason="this Triton has no descriptors")
    x, out = random(13, 16), new(13, 16)
    kernels.descriptor[(1,)](x, out)
    padded = torch.cat([x, torch.zeros(8, 16)])
    close(out[8:], x[8:] * 2, 0)
    close(out[:8], x[3:11] + padded[10:18], 0)
    from triton.tools.tensor_descriptor import TensorDescriptor

    wide = new(8, 16)
    kernels.host_descriptor[(1,)](TensorDescriptor.from_tensor(x, [8, 16]), wide)
    close(wide, padded[8:16], 0)


def test_mathematical_functions() -> None:
    x, out = random(64), new(4, 64)
    kernels.mathematics[(1,)](x, out, 64)
    close(out[0], x.exp() + x.sin() * x.cos() + (x.abs() + 1).log() + x.sigmoid())
    close(out[1], torch.erf(x), 1e-6)
    close(out[2], x.floor() + x.ceil() * (x.abs() + 1).rsqrt() + x.abs().sqrt())
    close(out[3], x * x + x + x.exp2() + x / 3)


def test_libdevice() -> None:
    x, out = random(64), new(8, 64)
    kernels.libdevice_functions[(1,)](x, out, 64)
    d = x.double()
    wanted = [d.abs().log1p(), d.expm1(), d.atan(), d.erfc(), (d * 4).round(), d.abs() ** 1.5, d.tanh()]
    wanted.append(d.sign() * d.abs() ** (1 / 3))
    for found, each in zip(out, wanted):
        close(found, each, 2e-7)


def test_bit_functions() -> None:
    x = torch.tensor([0, 1, -1, 12345, -2147483648, 255, 1 << 20, -7], dtype=torch.int32).cuda()
    out = new(5, 8, dtype=torch.int32)
    kernels.bit_functions[(1,)](x, out, 8)
    bits = [v & 0xFFFFFFFF for v in x.tolist()]
    assert out[0].tolist() == [v.bit_count() for v in bits]
    assert out[1].tolist() == [32 - v.bit_length() for v in bits]
    assert out[2].tolist() == [(v & -v).bit_length() for v in bits]
    assert [v & 0xFFFFFFFF for v in out[3].tolist()] == [int(f"{v:032b}"[::-1], 2) for v in bits]
    assert out[4].tolist() == [v * v >> 32 for v in x.tolist()]


def test_inline_ptx() -> None:
    x = torch.tensor([0, 1, 0x12345678, -5] * 8, dtype=torch.int32).cuda()
    out = new(2, 32, dtype=torch.int32)
    kernels.inline_ptx[(1,)](x, out, 32)
    assert out[0].tolist() == (x << 3).tolist()
    low = [v & 0xFF for v in x.tolist()]
    swapped = [v << 24 for v in low]
    assert [v & 0xFFFFFFFF for v in out[1].tolist()] == [(2 * a + b) & 0xFFFFFFFF for a, b in zip(low, swapped)]
    y, narrow = torch.arange(64, dtype=torch.int8).cuda(), new(64, dtype=torch.int8)
    kernels.packed_ptx[(1,)](y, narrow, 64)
    assert narrow.tolist() == (y + 1).tolist()


def test_functions_of_scalars() -> None:
    x, y, out = random(32), random(32), new(32)
    if not hasattr(__import__("triton.language").language, "map_elementwise"):
        pytest.skip("this Triton has no map_elementwise")
    kernels.mapped[(1,)](x, y, out, 32)
    close(out, torch.where(x > y, x, y * 2), 0)


def test_memory_between_accesses() -> None:
    x, out = random(64), new(2, 64)
    kernels.through_memory[(1,)](x, out, 64)
    close(out, torch.stack([x, x.flip(0)]), 0)


def test_addresses_in_memory() -> None:
    parts, out = [random(32) for _ in range(3)], new(32)
    table = torch.tensor([part.data_ptr() for part in parts], device="cuda")
    kernels.pointer_table[(1,)](table, out, 32)
    close(out, sum(parts))


def test_tensors_whose_elements_are_taken_for_another_type() -> None:
    import triton
    import triton.language as tl

    x, out = torch.tensor([0x3C, 0x40, 0x44, 0] * 4, dtype=torch.int8).cuda(), new(16)
    kernels.to_f32[(1,)](triton.reinterpret(x, tl.float8e5), out, 16)
    close(out[:4], torch.tensor([1.0, 2.0, 4.0, 0.0]), 0)


def test_printing(capfd: pytest.CaptureFixture[str]) -> None:
    kernels.prints[(1,)](torch.tensor([7], dtype=torch.int32).cuda())
    assert "value: 7" in capfd.readouterr().out


def test_random_numbers_are_uniform() -> None:
    out = new(1024)
    kernels.random[(1,)](out, 1024)
    assert out.min() >= 0 and out.max() < 1 and 0.45 < out.mean() < 0.55


@pytest.mark.parametrize(
    ("kernel", "values", "message"),
    [
        ("bessel", [torch.float32, torch.float32], "'__nv_j0f' has no translation"),
        ("clock", [torch.int64], "%globaltimer"),
        ("narrow_atomic", [torch.int16], "compare-and-swap of i16"),
    ],
)
def test_what_has_no_translation_is_refused_at_its_line(kernel: str, values: list[Any], message: str) -> None:
    with pytest.raises(TileError) as caught:
        getattr(kernels, kernel)[(1,)](*(new(1, dtype=each) for each in values))
    assert message in str(caught.value) and "kernels.py:" in str(caught.value)


def test_heuristics_and_autotuning() -> None:
    for n in (64, 100):
        x, out = random(n), new(n)
        kernels.with_heuristic[(-(-n // 32),)](x, out, n, 32)
        close(out, x * 2, 0)
    x, out = random(100), new(100)
    kernels.tuned[lambda meta: (-(-100 // meta["B"]),)](x, out, 100)
    close(out, x * 2, 0)
    assert kernels.tuned.best_config.kwargs == {"B": 32}


def test_autotuning_takes_the_first_configuration_that_compiles() -> None:
    x, out, kernel = random(100), new(100), kernels.tuned_by_what_compiles
    kernel[lambda meta: (-(-100 // meta["B"]),)](x, out, 100)
    close(out, x + 32, 0)
    assert kernel.best_config.kwargs == {"B": 32}


def test_an_argument_may_be_an_object_with_an_address() -> None:
    class Shifted:
        dtype = torch.float32

        def __init__(self, tensor: Any, offset: int) -> None:
            self.tensor, self.offset = tensor, offset

        def data_ptr(self) -> int:
            return int(self.tensor.data_ptr()) + 4 * self.offset

    x, out = random(100), new(64)
    kernels.with_heuristic[(2,)](Shifted(x, 36), out, 64, 32)
    close(out, x[36:] * 2, 0)

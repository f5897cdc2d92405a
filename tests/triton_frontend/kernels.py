"""Small Triton kernels, one per operation or language feature."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def first_order(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def scans(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))
    tl.store(out + N + i, tl.cumsum(tl.load(x + i), 0, reverse=True))
    pair = tl.associative_scan((tl.load(x + i), tl.load(y + i)), 0, first_order)
    tl.store(out + 2 * N + i, pair[1])


@triton.jit
def reduce_in_order(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.reduce((tl.load(x + i), tl.load(y + i)), 0, first_order)
    tl.store(out, a)
    tl.store(out + 1, b)


@triton.jit
def reductions(x, out, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r[:, None] * C + c[None, :])
    tl.store(out + r, tl.sum(v, 1))
    tl.store(out + R + c, tl.max(v, 0))
    tl.store(out + R + C + r, tl.argmax(v, 1).to(tl.float32))
    tl.store(out + 2 * R + C + r, tl.argmin(v, 1).to(tl.float32))
    tl.store(out + 3 * R + C, tl.sum(v))
    tl.store(out + 3 * R + C + 1, tl.min(v))


@triton.jit
def sort_and_flip(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.sort(v))
    tl.store(out + N + i, tl.flip(v, 0))


@triton.jit
def gather_and_count(x, index, out, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(index + i)
    tl.store(out + i, tl.gather(tl.load(x + i), at, 0))
    tl.store(out + N + tl.arange(0, 16), tl.histogram(at, 16))


@triton.jit
def join_and_split(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    z = tl.interleave(tl.load(x + i), tl.load(y + i))
    tl.store(out + tl.arange(0, 2 * N), z)
    a, b = tl.split(tl.reshape(z, (N, 2)))
    tl.store(out + 2 * N + i, a - b)
    cube = tl.permute(tl.reshape(tl.load(x + i), (4, 2, N // 8)), (2, 0, 1))
    tl.store(out + 3 * N + i, tl.ravel(cube))


@triton.jit
def integers(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a // b)
    tl.store(out + N + i, a % b)
    tl.store(out + 2 * N + i, (a >> 2) ^ (b << 3) | (a & b))
    u, v = a.to(tl.uint32), b.to(tl.uint32)
    tl.store(out + 3 * N + i, (u // v).to(tl.int32))
    tl.store(out + 4 * N + i, tl.umulhi(u, v).to(tl.int32))
    tl.store(out + 5 * N + i, (u > v).to(tl.int32) + tl.abs(a) + tl.minimum(a, b))


@triton.jit
def comparisons(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    code = (a < b).to(tl.int32) + 2 * (a == b).to(tl.int32) + 4 * (a != b).to(tl.int32) + 8 * (a >= b).to(tl.int32)
    tl.store(out + i, code)


@triton.jit
def extremes(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.maximum(a, b))
    tl.store(out + N + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 2 * N + i, tl.clamp(a, -0.5, 0.5))
    tl.store(out + 3 * N + i, tl.where(a > b, a, b))


@triton.jit
def round_trip(x, out, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(T).to(tl.float32))


@triton.jit
def to_f32(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.float32))


@triton.jit
def round_to_zero(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, v.to(tl.float16, fp_downcast_rounding="rtz").to(tl.float32))
    tl.store(out + N + i, v.to(tl.int32).to(tl.float32))


@triton.jit
def dots(x, y, out):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.dot(a, b, input_precision="ieee"))
    tl.store(out + 256 + i, tl.dot(a.to(tl.float16), b.to(tl.float16)))
    tl.store(out + 512 + i, tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), acc=a))
    tl.store(out + 768 + i, tl.dot(a, b, input_precision="tf32"))


@triton.jit
def int_dot(x, y, out):
    i = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(out + i, tl.dot(tl.load(x + i), tl.load(y + i)))


@triton.jit
def batched_dot(x, y, out):
    i = tl.arange(0, 4)[:, None, None] * 256 + tl.arange(0, 16)[None, :, None] * 16 + tl.arange(0, 16)[None, None, :]
    tl.store(out + i, tl.dot(tl.load(x + i), tl.load(y + i), input_precision="ieee"))


@triton.jit
def scaled_dot(x, xs, y, ys, out):
    m = tl.arange(0, 32)
    k = tl.arange(0, 64)
    s = tl.arange(0, 2)
    a = tl.load(x + m[:, None] * 64 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + m[None, :])
    a_scale = tl.load(xs + m[:, None] * 2 + s[None, :])
    b_scale = tl.load(ys + m[:, None] * 2 + s[None, :])
    tl.store(out + m[:, None] * 32 + m[None, :], tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e4m3"))


@triton.jit
def early_return(x, y, out):
    p = tl.program_id(0)
    if tl.load(x + p) > 0:
        return
    if tl.load(y + p) > 0:
        tl.store(out + p, 5.0)
        return
    tl.store(out + p, 1.0)


@triton.jit
def collatz(x, out):
    n = tl.load(x + tl.program_id(0))
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = n * 3 + 1
        steps += 1
    tl.store(out + tl.program_id(0), steps)


@triton.jit(noinline=True)
def helper(v, p):
    if p > 3:
        return v * 2
    else:
        return v + 1


@triton.jit
def calls(x, out):
    p = tl.program_id(0)
    tl.store(out + p, helper(tl.load(x + p), p))


@triton.jit
def atomics(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    old = tl.atomic_add(out + i % 8, v)
    tl.atomic_max(out + 8 + i % 8, v + old * 0)
    tl.atomic_min(out + 16 + i % 8, v)
    tl.atomic_or(out + 24 + i % 4, v)
    tl.atomic_xor(out + 28 + i % 4, v)
    tl.atomic_and(out + 32 + i % 4, v)
    if tl.program_id(0) == 0:
        tl.atomic_xchg(out + 36, 3)
        tl.atomic_cas(out + 37, 0, 9)


@triton.jit
def descriptor(x, out):
    d = tl.make_tensor_descriptor(x, shape=[13, 16], strides=[16, 1], block_shape=[8, 16])
    e = tl.make_tensor_descriptor(out, shape=[13, 16], strides=[16, 1], block_shape=[8, 16])
    e.store([8, 0], d.load([8, 0]) * 2)
    e.store([0, 0], d.load([3, 0]) + d.load([10, 0]))


@triton.jit
def host_descriptor(d, out):
    i = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + i, d.load([8, 0]))


@triton.jit
def mathematics(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.exp(v) + tl.sin(v) * tl.cos(v) + tl.log(tl.abs(v) + 1) + tl.sigmoid(v))
    tl.store(out + N + i, tl.erf(v))
    tl.store(out + 2 * N + i, tl.floor(v) + tl.ceil(v) * tl.rsqrt(tl.abs(v) + 1) + tl.sqrt_rn(tl.abs(v)))
    tl.store(out + 3 * N + i, tl.fma(v, v, v) + tl.math.exp2(v) + tl.div_rn(v, 3.0))


@triton.jit
def libdevice_functions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.log1p(tl.abs(v)))
    tl.store(out + N + i, libdevice.expm1(v))
    tl.store(out + 2 * N + i, libdevice.atan(v))
    tl.store(out + 3 * N + i, libdevice.erfc(v))
    tl.store(out + 4 * N + i, libdevice.rint(v * 4))
    tl.store(out + 5 * N + i, libdevice.pow(tl.abs(v), 1.5))
    tl.store(out + 6 * N + i, libdevice.tanh(v))
    tl.store(out + 7 * N + i, libdevice.cbrt(v))


@triton.jit
def bit_functions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.popc(v))
    tl.store(out + N + i, libdevice.clz(v))
    tl.store(out + 2 * N + i, libdevice.ffs(v))
    tl.store(out + 3 * N + i, libdevice.brev(v))
    tl.store(out + 4 * N + i, libdevice.mulhi(v, v))


@triton.jit
def inline_ptx(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    shifted = tl.inline_asm_elementwise("shl.b32 $0, $1, 3;", "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + i, shifted)
    code: tl.constexpr = """
    {
        .reg .b32 t<2>;
        and.b32 t0, $1, 0xff;
        prmt.b32 t1, t0, $1, 0x0123;  // swaps the bytes
        mad.lo.s32 $0, t0, 2, t1;
    }
    """
    tl.store(out + N + i, tl.inline_asm_elementwise(code, "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1))


@triton.jit
def packed_ptx(x, out, N: tl.constexpr):
    """Four bytes at a time: add one to each by adding 0x01010101."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.inline_asm_elementwise("add.u32 $0, $1, 0x01010101;", "=r,r", [v], tl.int8, True, 4))


@triton.jit
def pick(a, b):
    if a > b:
        return a
    else:
        return b * 2


@triton.jit
def mapped(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.map_elementwise(pick, tl.load(x + i), tl.load(y + i)))


@triton.jit
def through_memory(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, volatile=True))
    tl.debug_barrier()
    tl.store(out + N + i, tl.load(out + (N - 1 - i)))


@triton.jit
def pointer_table(table, out, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for k in range(3):
        p = tl.load(table + k).to(tl.pointer_type(tl.float32))
        total += tl.load(p + i)
    tl.store(out + i, total)


@triton.jit
def prints(x):
    tl.device_print("value", tl.load(x))


@triton.jit
def random(out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.rand(42, i))


@triton.jit
def bessel(x, out):
    tl.store(out, libdevice.j0(tl.load(x)))


@triton.jit
def clock(out):
    code: tl.constexpr = "mov.u64 $0, %globaltimer;"
    tl.store(out, tl.inline_asm_elementwise(code, "=l", [], dtype=tl.int64, is_pure=False, pack=1))


@triton.jit
def narrow_atomic(out):
    tl.atomic_cas(out, tl.full((), 0, tl.int16), tl.full((), 1, tl.int16))


@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def with_heuristic(x, out, n, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if EVEN:
        tl.store(out + i, tl.load(x + i) * 2)
    else:
        tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.autotune(configs=[triton.Config({"B": b}) for b in (128, 64, 32, 16)], key=["n"])
@triton.jit
def tuned_by_what_compiles(x, out, n, B: tl.constexpr):
    tl.static_assert(B <= 32)
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + B, mask=i < n)


@triton.autotune(configs=[triton.Config({"B": 32}), triton.Config({"B": 64})], key=["n"])
@triton.jit
def tuned(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

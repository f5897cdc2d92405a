"""Kernels that `scripts/triton_gpu.py` runs on a GPU and on the reference engine: one per family of operations."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def unary(x, out, n, OP: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=1)
    if OP == "exp":
        r = tl.exp(v)
    elif OP == "exp2":
        r = tl.exp2(v)
    elif OP == "log":
        r = tl.log(tl.abs(v) + 0.5)
    elif OP == "log2":
        r = tl.log2(tl.abs(v) + 0.5)
    elif OP == "sin":
        r = tl.sin(v)
    elif OP == "cos":
        r = tl.cos(v)
    elif OP == "sqrt":
        r = tl.sqrt(tl.abs(v))
    elif OP == "sqrt_rn":
        r = tl.sqrt_rn(tl.abs(v))
    elif OP == "rsqrt":
        r = tl.rsqrt(tl.abs(v) + 0.5)
    elif OP == "floor":
        r = tl.floor(v)
    elif OP == "ceil":
        r = tl.ceil(v)
    elif OP == "abs":
        r = tl.abs(v)
    elif OP == "erf":
        r = tl.erf(v)
    elif OP == "sigmoid":
        r = tl.sigmoid(v)
    elif OP == "neg":
        r = -v
    else:
        r = ~v
    tl.store(out + i, r, mask=i < n)


@triton.jit
def extern(x, y, out, n, OP: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=1.0)
    w = tl.load(y + i, mask=i < n, other=1.0)
    if OP == "log1p":
        r = libdevice.log1p(tl.abs(v))
    elif OP == "expm1":
        r = libdevice.expm1(v)
    elif OP == "asin":
        r = libdevice.asin(tl.sin(v))
    elif OP == "acos":
        r = libdevice.acos(tl.sin(v))
    elif OP == "atan":
        r = libdevice.atan(v)
    elif OP == "atan2":
        r = libdevice.atan2(v, w)
    elif OP == "sinh":
        r = libdevice.sinh(v)
    elif OP == "cosh":
        r = libdevice.cosh(v)
    elif OP == "tanh":
        r = libdevice.tanh(v)
    elif OP == "asinh":
        r = libdevice.asinh(v)
    elif OP == "acosh":
        r = libdevice.acosh(tl.abs(v) + 1)
    elif OP == "atanh":
        r = libdevice.atanh(libdevice.tanh(v))
    elif OP == "tan":
        r = libdevice.tan(v)
    elif OP == "log10":
        r = libdevice.log10(tl.abs(v) + 0.1)
    elif OP == "exp10":
        r = libdevice.exp10(v)
    elif OP == "cbrt":
        r = libdevice.cbrt(v)
    elif OP == "rcbrt":
        r = libdevice.rcbrt(v)
    elif OP == "erf":
        r = libdevice.erf(v)
    elif OP == "erfc":
        r = libdevice.erfc(v)
    elif OP == "erfcx":
        r = libdevice.erfcx(tl.abs(v))
    elif OP == "normcdf":
        r = libdevice.normcdf(v)
    elif OP == "sinpi":
        r = libdevice.sinpi(v)
    elif OP == "cospi":
        r = libdevice.cospi(v)
    elif OP == "pow":
        r = libdevice.pow(tl.abs(v), w)
    elif OP == "fmod":
        r = libdevice.fmod(v, w)
    elif OP == "hypot":
        r = libdevice.hypot(v, w)
    elif OP == "copysign":
        r = libdevice.copysign(v, w)
    elif OP == "rint":
        r = libdevice.rint(v * 8)
    elif OP == "round":
        r = libdevice.round(v * 8)
    elif OP == "trunc":
        r = libdevice.trunc(v * 8)
    elif OP == "nextafter":
        r = libdevice.nextafter(v, w)
    elif OP == "fdim":
        r = libdevice.fdim(v, w)
    elif OP == "add_rz":
        r = libdevice.add_rz(v, w)
    elif OP == "mul_ru":
        r = libdevice.mul_ru(v, w)
    elif OP == "div_rd":
        r = libdevice.div_rd(v, w)
    elif OP == "fma_rz":
        r = libdevice.fma_rz(v, w, v)
    else:
        r = libdevice.saturatef(v)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def extern_int(x, out, n, OP: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=1)
    if OP == "popc":
        r = libdevice.popc(v)
    elif OP == "clz":
        r = libdevice.clz(v)
    elif OP == "ffs":
        r = libdevice.ffs(v)
    elif OP == "brev":
        r = libdevice.brev(v)
    elif OP == "mulhi":
        r = libdevice.mulhi(v, v + 3)
    elif OP == "hadd":
        r = libdevice.hadd(v, v * 3)
    else:
        r = libdevice.mul24(v, v + 7)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def binary(x, y, out, n, OP: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=1)
    b = tl.load(y + i, mask=i < n, other=1)
    if OP == "add":
        r = a + b
    elif OP == "sub":
        r = a - b
    elif OP == "mul":
        r = a * b
    elif OP == "div":
        r = a / b
    elif OP == "div_rn":
        r = tl.div_rn(a, b)
    elif OP == "floordiv":
        r = a // b
    elif OP == "mod":
        r = a % b
    elif OP == "and":
        r = a & b
    elif OP == "or":
        r = a | b
    elif OP == "xor":
        r = a ^ b
    elif OP == "shl":
        r = a << (b & 7)
    elif OP == "shr":
        r = a >> (b & 7)
    elif OP == "max":
        r = tl.maximum(a, b)
    elif OP == "min":
        r = tl.minimum(a, b)
    elif OP == "min_nan":
        r = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "lt":
        r = tl.where(a < b, a, b)
    elif OP == "fma":
        r = tl.fma(a, b, a)
    else:
        r = tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(a.dtype)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def cast(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(out.dtype.element_ty), mask=i < n)


@triton.jit
def reduce(x, out, index, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r[:, None] * C + c[None, :])
    o = out + (c if AXIS == 0 else r)
    if OP == "sum":
        tl.store(o, tl.sum(v, AXIS))
    elif OP == "max":
        tl.store(o, tl.max(v, AXIS))
    elif OP == "min":
        tl.store(o, tl.min(v, AXIS))
    elif OP == "xor":
        tl.store(o, tl.xor_sum(v, AXIS))
    else:
        tl.store(index + (c if AXIS == 0 else r), tl.argmax(v, AXIS))


@triton.jit
def first_order(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def scan(x, out, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    v = tl.load(x + at)
    if OP == "cumsum":
        r = tl.cumsum(v, AXIS)
    elif OP == "cumsum_reverse":
        r = tl.cumsum(v, AXIS, reverse=True)
    elif OP == "cumprod":
        r = tl.cumprod(v, AXIS)
    else:
        pair = tl.associative_scan((v * 0.5, v), AXIS, first_order)
        r = pair[1]
    tl.store(out + at, r)


@triton.jit
def shapes(x, out, N: tl.constexpr, OP: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if OP == "sort":
        r = tl.sort(v)
    elif OP == "sort_descending":
        r = tl.sort(v, descending=True)
    elif OP == "flip":
        r = tl.flip(v, 0)
    elif OP == "permute":
        r = tl.ravel(tl.permute(tl.reshape(v, (4, 2, N // 8)), (2, 0, 1)))
    elif OP == "trans":
        r = tl.ravel(tl.trans(tl.reshape(v, (8, N // 8))))
    elif OP == "split":
        a, b = tl.split(tl.reshape(v, (N // 2, 2)))
        r = tl.interleave(b, a)
    elif OP == "gather":
        r = tl.gather(v, (i * 7 + 3) % N, 0)
    else:
        r = tl.ravel(tl.join(v, v + v))
        tl.store(out + N + i, tl.sum(tl.reshape(r, (N, 2)), 1))
        r = v
    tl.store(out + i, r)


@triton.jit
def histogram(x, out, N: tl.constexpr, BINS: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(out + tl.arange(0, BINS), tl.histogram(v, BINS))


@triton.jit
def dot(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(a, b, input_precision=PRECISION))


@triton.jit
def atomic(x, out, N: tl.constexpr, OP: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    p = out + i % 8
    if OP == "add":
        tl.atomic_add(p, v)
    elif OP == "max":
        tl.atomic_max(p, v)
    elif OP == "min":
        tl.atomic_min(p, v)
    elif OP == "and":
        tl.atomic_and(p, v)
    elif OP == "or":
        tl.atomic_or(p, v)
    else:
        tl.atomic_xor(p, v)


@triton.jit
def random(out, n, seed, OP: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if OP == "rand":
        r = tl.rand(seed, i)
    elif OP == "randn":
        r = tl.randn(seed, i)
    else:
        r = tl.randint(seed, i)
    tl.store(out + i, r, mask=i < n)


@triton.jit
def ptx(x, out, n, OP: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=1.0)
    if OP == "tanh":
        r = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=r,r", [v], tl.float32, True, 1)
    elif OP == "rcp":
        r = tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=r,r", [v], tl.float32, True, 1)
    elif OP == "prmt":
        r = tl.inline_asm_elementwise("prmt.b32 $0, $1, $1, 0x0123;", "=r,r", [v], tl.float32, True, 1)
    elif OP == "rna":
        r = tl.inline_asm_elementwise("cvt.rna.tf32.f32 $0, $1;", "=r,r", [v], tl.float32, True, 1)
    else:
        r = tl.inline_asm_elementwise(
            "lop3.b32 $0, $1, 0x7fff0000, 0x0000ffff, 0x6a;", "=r,r", [v], tl.float32, True, 1
        )
    tl.store(out + i, r, mask=i < n)

# The output is narrower than the input, and is written with the stride of the input.
import torch
import triton
import triton.language as tl


@triton.jit
def first_columns(x, out, sx, so, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    a = tl.load(x + r * sx + c)
    tl.store(out + r * sx + c, a)  # fault: bounds
    # fixed: tl.store(out + r * so + c, a)


def main(uninit):
    x, out = torch.ones(8, 64, device="cuda"), torch.zeros(8, 16, device="cuda")
    first_columns[(1,)](x, out, x.stride(0), out.stride(0), 8, 16)

# The strides of rows and columns are swapped.
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, out, sr, sc, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    a = tl.load(x + r * sc + c * sr)  # fault: bounds
    # fixed: a = tl.load(x + r * sr + c * sc)
    tl.store(out + r * sr + c * sc, a)


def main(uninit):
    x, out = torch.ones(8, 32, device="cuda"), torch.zeros(8, 32, device="cuda")
    copy[(1,)](x, out, x.stride(0), x.stride(1), 8, 32)

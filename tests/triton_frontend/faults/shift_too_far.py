# An integer is shifted by its width.
import torch
import triton
import triton.language as tl


@triton.jit
def shift(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    tl.store(out + i, a << i)  # fault: undefined
    # fixed: tl.store(out + i, a << (i % 32))


def main(uninit):
    x = torch.ones(64, device="cuda", dtype=torch.int32)
    shift[(1,)](x, torch.zeros_like(x), 64)

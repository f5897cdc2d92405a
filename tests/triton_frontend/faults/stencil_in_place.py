# A program reads an element that another program overwrites.
import torch
import triton
import triton.language as tl


@triton.jit
def smooth(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    here = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(x + i, (here + right) / 2, mask=i < n)  # fault: race
    # fixed: tl.store(out + i, (here + right) / 2, mask=i < n)


def main(uninit):
    smooth[(4,)](torch.ones(256, device="cuda"), torch.zeros(256, device="cuda"), 256, 64)

# The left neighbour of the first element is before the tensor.
import torch
import triton
import triton.language as tl


@triton.jit
def blur(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    left = tl.load(x + i - 1, mask=mask, other=0.0)  # fault: bounds
    # fixed: left = tl.load(x + i - 1, mask=mask & (i > 0), other=0.0)
    here = tl.load(x + i, mask=mask, other=0.0)
    tl.store(out + i, (left + here) / 2, mask=mask)


def main(uninit):
    blur[(2,)](torch.ones(100, device="cuda"), torch.zeros(100, device="cuda"), 100, 64)

# The last program loads past the end: the second load has no mask.
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i)  # fault: bounds
    # fixed: b = tl.load(y + i, mask=i < n)
    tl.store(out + i, a + b, mask=i < n)


def main(uninit):
    x, y = torch.ones(1000, device="cuda"), torch.ones(1000, device="cuda")
    add[(4,)](x, y, torch.zeros(1000, device="cuda"), 1000, 256)

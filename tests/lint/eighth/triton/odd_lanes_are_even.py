# Pairs of neighbours are rotated; the second number of a pair is stored one place too far, on the first of the next.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, D: tl.constexpr):
    i = tl.arange(0, D // 2)
    row = tl.program_id(0) * D
    a = tl.load(x + row + 2 * i)
    b = tl.load(x + row + 2 * i + 1)
    far = 2
    # fixed: far = 1
    tl.store(out + row + 2 * i, a - b)  # other: race
    tl.store(out + row + 2 * i + far, a + b)  # fault: race


def main(uninit):
    x = torch.ones(32, device="cuda")
    out = torch.zeros(34, device="cuda")
    kernel[(2,)](x, out, 16)

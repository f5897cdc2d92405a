# A running sum takes the last result of the tile block before, which may not have stored it yet.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    b = tl.program_id(0)
    i = b * B + tl.arange(0, B)
    sums = tl.cumsum(tl.load(x + i), axis=0)
    carry = tl.load(out + b * B - 1, mask=b > 0, other=0.0)  # fault: race
    # fixed: carry = tl.sum(tl.load(x + b * B - 1 + tl.arange(0, 1), mask=b > 0, other=0.0), axis=0)
    tl.store(out + i, sums + carry)  # other: race


def main(uninit):
    x = torch.ones(32, device="cuda")
    out = torch.zeros(32, device="cuda")
    kernel[(4,)](x, out, 8)

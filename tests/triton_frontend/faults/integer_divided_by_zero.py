# An integer from memory is a divisor, and zero.
import torch
import triton
import triton.language as tl


@triton.jit
def ratio(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a // b)  # fault: undefined: division by zero
    # fixed: tl.store(out + i, a // tl.where(b == 0, 1, b))


def main(uninit):
    x = torch.arange(32, device="cuda", dtype=torch.int32)
    ratio[(1,)](x, x, torch.zeros_like(x), 32)

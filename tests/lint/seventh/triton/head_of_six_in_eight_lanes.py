# Heads of six numbers are rotated in place by tiles of eight: the last two lanes are the next head's.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, D: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    mask = i < B
    # fixed: mask = i < D
    at = x + tl.program_id(0) * D + i
    v = tl.load(at, mask=mask, other=0.0)  # other: race
    tl.store(at, -v, mask=mask)  # fault: race


def main(uninit):
    x = torch.ones(26, device="cuda")
    kernel[(4,)](x, 6, 8)

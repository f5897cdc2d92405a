# Programs start one element apart instead of one block apart, and store over each other.
import torch
import triton
import triton.language as tl


@triton.jit
def square(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) + tl.arange(0, B)
    # fixed: i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, a * a, mask=i < n)  # fault: race


def main(uninit):
    square[(4,)](torch.ones(256, device="cuda"), torch.zeros(256, device="cuda"), 256, 64)

# Neighbouring blocks store to the same half.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.program_id(0) * (B // 2) + tl.arange(0, B)
    # fixed: i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) + tl.program_id(0))  # fault: lint


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 128)

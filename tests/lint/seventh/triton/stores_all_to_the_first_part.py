# Nested loops copy a part of a matrix for each program, but only the loads have the offset of the part.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    first = tl.program_id(0) * 64
    for row in range(4):
        for part in range(2):
            at = row * 16 + part * 8 + tl.arange(0, B)
            to = out + at
            # fixed: to = out + first + at
            tl.store(to, tl.load(x + first + at) + 1.0)  # fault: race


def main(uninit):
    x = torch.ones(128, device="cuda")
    out = torch.zeros(128, device="cuda")
    kernel[(2,)](x, out, 8)

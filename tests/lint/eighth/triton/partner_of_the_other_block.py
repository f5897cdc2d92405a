# A sorting network exchanges with the partner of each element in place; the partner is in another tile block.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    other = i ^ B
    # fixed: other = i ^ (B // 2)
    a = tl.load(x + i)  # fault: race
    b = tl.load(x + other)  # fault: race
    tl.store(x + i, tl.where(i < other, tl.minimum(a, b), tl.maximum(a, b)))  # other: race


def main(uninit):
    kernel[(2,)](torch.arange(16, device="cuda", dtype=torch.float32), 8)

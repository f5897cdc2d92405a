# Two elements of one store have the same address and different values.
import torch
import triton
import triton.language as tl


@triton.jit
def scatter(out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i // 2, i)  # fault: race
    # fixed: tl.store(out + i // 2, i, mask=i % 2 == 0)


def main(uninit):
    scatter[(1,)](torch.zeros(16, device="cuda", dtype=torch.int32), 32)

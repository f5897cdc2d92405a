# Each program writes one element of the next one.
import torch
import triton
import triton.language as tl


@triton.jit
def fill(out, n, B: tl.constexpr, W: tl.constexpr):
    p = tl.program_id(0)
    i = p * B + tl.arange(0, W)
    tl.store(out + i, p, mask=(i <= (p + 1) * B) & (i < n))  # fault: race
    # fixed: tl.store(out + i, p, mask=(i < (p + 1) * B) & (i < n))


def main(uninit):
    fill[(4,)](torch.zeros(400, device="cuda", dtype=torch.int32), 400, 100, 128)

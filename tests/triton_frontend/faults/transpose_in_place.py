# Programs transpose tiles of one matrix in place.
import torch
import triton
import triton.language as tl


@triton.jit
def transpose(x, out, n, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    c = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    a = tl.load(x + r * n + c)
    tl.store(x + c * n + r, a)  # fault: race
    # fixed: tl.store(out + c * n + r, a)


def main(uninit):
    transpose[(2, 2)](torch.ones(32, 32, device="cuda"), torch.zeros(32, 32, device="cuda"), 32, 16)

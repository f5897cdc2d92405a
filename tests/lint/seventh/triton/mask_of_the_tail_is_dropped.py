# The mask of the last columns is computed and not passed to the store, which writes them to the next row as well.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, R: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    column = tl.program_id(1) * B + tl.arange(0, B)
    mask = (row < 16)[:, None] & (column < N)[None, :]
    at = row[:, None] * N + column[None, :]
    v = tl.load(x + at, mask=mask, other=0.0)
    tl.store(out + at, v * 2.0)  # fault: race
    # fixed: tl.store(out + at, v * 2.0, mask=mask)


def main(uninit):
    x = torch.ones(16 * 24, device="cuda")
    out = torch.zeros(16 * 24 + 8, device="cuda")
    kernel[(2, 2)](x, out, 8, 24, 16)

# Rows of eight columns are stored seven apart, so that the last column of a row is the first one of the next.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, B: tl.constexpr):
    i = tl.arange(0, 4)[:, None]
    j = tl.arange(0, B)[None, :]
    row = B - 1
    # fixed: row = B
    tl.store(out + tl.program_id(0) * 4 * B + i * row + j, (i * B + j).to(tl.float32))  # fault: race


def main(uninit):
    kernel[(2,)](torch.zeros(64, device="cuda"), 8)

# The addresses of a tile have the offsets of its rows, and those of its columns were forgotten.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, R: tl.constexpr, C: tl.constexpr):
    pid = tl.program_id(0)
    row = pid * R + tl.arange(0, R)
    column = tl.arange(0, C)
    v = tl.load(x + row[:, None] * C + column[None, :])
    to = out + row[:, None] * C + tl.zeros((1, C), tl.int32)
    # fixed: to = out + row[:, None] * C + column[None, :]
    tl.store(to, v + 1.0)  # fault: race


def main(uninit):
    x = torch.ones(256, device="cuda")
    out = torch.zeros(256, device="cuda")
    kernel[(2,)](x, out, 8, 16)

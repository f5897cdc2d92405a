# A matrix of six columns is doubled by tiles of eight; the mask looks at the rows only.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, rows, N: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    j = tl.arange(0, B)[None, :]
    inside = (i < rows) & (j < B)
    # fixed: inside = (i < rows) & (j < N)
    v = tl.load(x + i * N + j, mask=inside, other=0.0)
    tl.store(out + i * N + j, v * 2, mask=inside)  # fault: race


def main(uninit):
    x = torch.ones(50, device="cuda")
    out = torch.zeros(50, device="cuda")
    kernel[(2,)](x, out, 8, 6, 8)

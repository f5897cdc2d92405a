# The smallest element is looked for among lanes that a mask kept from being loaded.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * N + i, mask=i < N)
    # fixed: v = tl.load(x + tl.program_id(0) * N + i, mask=i < N, other=float("inf"))
    tl.store(out + tl.program_id(0), tl.argmin(v, axis=0))  # fault: uninit


def main(uninit):
    x = torch.ones(100, device="cuda")
    out = torch.zeros(2, device="cuda", dtype=torch.int32)
    kernel[(2,)](x, out, 50, 64)

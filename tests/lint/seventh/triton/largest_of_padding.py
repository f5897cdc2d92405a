# Where all numbers of a row are negative, the largest one is the padding, and its index is outside the row.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * N + i, mask=i < N, other=0.0)
    # fixed: v = tl.load(x + tl.program_id(0) * N + i, mask=i < N, other=-float("inf"))
    tl.store(out + tl.program_id(0), tl.argmax(v, axis=0))  # fault: lint


def main(uninit):
    x = torch.ones(48, device="cuda")
    out = torch.zeros(2, device="cuda", dtype=torch.int32)
    kernel[(2,)](x, out, 24, 32)

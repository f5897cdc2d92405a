# Padding of zero is right for the mean, but becomes minus the mean in the differences that the variance adds up.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    mask = i < N
    v = tl.load(x + tl.program_id(0) * N + i, mask=mask, other=0.0)
    mean = tl.sum(v, axis=0) / N
    d = v - mean
    # fixed: d = tl.where(mask, v - mean, 0.0)
    tl.store(out + tl.program_id(0), tl.sum(d * d, axis=0) / N)  # fault: lint


def main(uninit):
    x = torch.ones(48, device="cuda")
    out = torch.zeros(2, device="cuda")
    kernel[(2,)](x, out, 24, 32)

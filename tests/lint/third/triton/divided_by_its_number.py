# The first lane divides by zero.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    q = B // i  # fault: lint
    # fixed: q = B // (i + 1)
    tl.store(out + tl.program_id(0) * B + i, q.to(tl.float32))


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 64)

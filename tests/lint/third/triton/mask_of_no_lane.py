# The comparison of the mask is the wrong way round.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i, mask=i >= B, other=0.0)  # fault: lint
    # fixed: a = tl.load(x + i, mask=i < B - 1, other=0.0)
    tl.store(out + tl.program_id(0) * B + i, a)


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 128)

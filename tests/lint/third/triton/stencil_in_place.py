# A stencil reads elements that the next block writes.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i) + tl.load(x + i + 1)
    tl.store(x + i, a)  # fault: lint
    # fixed: tl.store(out + i, a)


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 128)

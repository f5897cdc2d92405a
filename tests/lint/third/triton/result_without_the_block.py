# Every tile block stores its part at the start of the output.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + tl.program_id(0) * B + i)
    tl.store(out + i, a)  # fault: lint
    # fixed: tl.store(out + tl.program_id(0) * B + i, a)


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 128)

# The element before the first one is loaded, and `where` drops it afterwards.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i - 1)  # fault: lint
    # fixed: a = tl.load(x + i - 1, mask=i > 0, other=0.0)
    tl.store(out + tl.program_id(0) * B + i, tl.where(i == 0, 0.0, a))


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 128)

# The offset of a row does not fit in 32 bits.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    o = i * 67108864
    # fixed: o = i.to(tl.int64) * 67108864
    a = tl.load(x + o)  # fault: lint
    tl.store(out + tl.program_id(0) * B + i, a)


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 64)

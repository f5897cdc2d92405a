# A float that no 8-bit integer holds is converted to one.
import torch
import triton
import triton.language as tl


@triton.jit
def quantise(x, out, scale, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i) * scale
    tl.store(out + i, a.to(tl.int8))  # fault: undefined
    # fixed: tl.store(out + i, tl.clamp(a, -128.0, 127.0).to(tl.int8))


def main(uninit):
    x = torch.arange(32, device="cuda").float()
    quantise[(1,)](x, torch.zeros(32, device="cuda", dtype=torch.int8), 10.0, 32)

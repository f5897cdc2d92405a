# Programs in pairs exchange their blocks in place.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    mine = tl.program_id(0) * B + tl.arange(0, B)
    theirs = (tl.program_id(0) ^ 1) * B + tl.arange(0, B)
    v = tl.load(x + theirs)
    tl.store(x + mine, v)  # fault: race: two tile blocks
    # fixed: tl.store(out + mine, v)


def main(uninit):
    x = torch.arange(256, device="cuda", dtype=torch.float32)
    out = torch.zeros(256, device="cuda")
    kernel[(4,)](x, out, 64)

# Two outputs are views of one tensor that overlap.
import torch
import triton
import triton.language as tl


@triton.jit
def both(x, low, high, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i)
    tl.store(low + i, a)
    tl.store(high + i, -a)  # fault: race


def main(uninit):
    out = torch.zeros(256, device="cuda")
    both[(2,)](torch.ones(128, device="cuda"), out[:128], out[64:192], 64)
    # fixed: both[(2,)](torch.ones(128, device="cuda"), out[:128], out[128:], 64)

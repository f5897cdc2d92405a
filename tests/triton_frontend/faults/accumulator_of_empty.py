# Atomic additions to memory that is never set to zero.
import torch
import triton
import triton.language as tl


@triton.jit
def total(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i), 0))  # fault: uninit


def main(uninit):
    out = uninit(torch.empty(1, device="cuda"))
    # fixed: out = torch.zeros(1, device="cuda")
    total[(4,)](torch.ones(128, device="cuda"), out, 32)

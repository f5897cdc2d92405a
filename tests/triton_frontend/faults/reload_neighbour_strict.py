# A program loads what its other threads have just stored, without a barrier.
# run: strict
import torch
import triton
import triton.language as tl


@triton.jit
def shift(x, scratch, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(scratch + i, tl.load(x + i))
    # fixed: tl.store(scratch + i, tl.load(x + i)); tl.debug_barrier()
    right = tl.load(scratch + (i + 1) % B)  # fault: race
    tl.store(out + i, right)


def main(uninit):
    x = torch.ones(64, device="cuda")
    shift[(1,)](x, torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda"), 64)

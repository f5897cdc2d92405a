# A program reverses a tile in place: other threads may still have to load it.
# run: strict
import torch
import triton
import triton.language as tl


@triton.jit
def reverse(x, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    # fixed: a = tl.load(x + i); tl.debug_barrier()
    tl.store(x + (B - 1 - i), a)  # fault: race


def main(uninit):
    reverse[(1,)](torch.ones(64, device="cuda"), 64)

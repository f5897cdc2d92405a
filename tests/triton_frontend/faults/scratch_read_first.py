# A running maximum starts from memory that holds nothing.
import torch
import triton
import triton.language as tl


@triton.jit
def running(x, state, out, B: tl.constexpr):
    i = tl.arange(0, B)
    old = tl.load(state)
    # fixed: old = -float("inf")
    new = tl.maximum(old, tl.max(tl.load(x + i), 0))
    tl.store(out, new)  # fault: uninit


def main(uninit):
    state = uninit(torch.empty(1, device="cuda"))
    running[(1,)](torch.ones(32, device="cuda"), state, torch.zeros(1, device="cuda"), 32)

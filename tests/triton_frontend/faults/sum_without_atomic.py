# Programs add to one number by a load and a store.
import torch
import triton
import triton.language as tl


@triton.jit
def total(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0)
    tl.store(out, tl.load(out) + s)  # fault: race
    # fixed: tl.atomic_add(out, s)


def main(uninit):
    total[(4,)](torch.ones(1000, device="cuda"), torch.zeros(1, device="cuda"), 1000, 256)

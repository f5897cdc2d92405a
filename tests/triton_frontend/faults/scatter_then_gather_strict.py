# A program sorts through memory: it stores to computed places and loads the result.
# run: strict
import torch
import triton
import triton.language as tl


@triton.jit
def place(x, order, scratch, out, B: tl.constexpr):
    i = tl.arange(0, B)
    to = tl.load(order + i)
    tl.store(scratch + to, tl.load(x + i))
    # fixed: tl.store(scratch + to, tl.load(x + i)); tl.debug_barrier()
    a = tl.load(scratch + i)  # fault: race
    tl.store(out + i, a * 2)


def main(uninit):
    order = torch.arange(31, -1, -1, device="cuda")
    x, scratch, out = torch.zeros(3, 32, device="cuda").unbind()
    place[(1,)](x.clone(), order, scratch.clone(), out.clone(), 32)

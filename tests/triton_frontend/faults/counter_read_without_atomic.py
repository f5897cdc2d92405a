# A counter is increased atomically and read without.
import torch
import triton
import triton.language as tl


@triton.jit
def count(counter, seen):
    p = tl.program_id(0)
    tl.atomic_add(counter, 1)
    tl.store(seen + p, tl.load(counter))  # fault: race
    # fixed: tl.store(seen + p, tl.atomic_add(counter, 0))


def main(uninit):
    count[(4,)](torch.zeros(1, device="cuda", dtype=torch.int32), torch.zeros(4, device="cuda", dtype=torch.int32))

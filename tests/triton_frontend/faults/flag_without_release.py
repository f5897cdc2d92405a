# The flag that says that data is ready does not publish the data.
import torch
import triton
import triton.language as tl


@triton.jit
def hand_over(data, flag, out, B: tl.constexpr):
    i = tl.arange(0, B)
    if tl.program_id(0) == 0:
        tl.store(data + i, 7.0)
        tl.atomic_xchg(flag, 1, sem="relaxed")
        # fixed: tl.atomic_xchg(flag, 1, sem="release")
    else:
        ready = tl.atomic_add(flag, 0, sem="acquire")
        if ready == 1:
            tl.store(out + i, tl.load(data + i))  # fault: race


def main(uninit):
    data, flag = torch.zeros(32, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int32)
    hand_over[(2,)](data, flag, torch.zeros(32, device="cuda"), 32)

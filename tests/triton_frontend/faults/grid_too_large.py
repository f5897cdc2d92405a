# There is a program too many, and nothing is masked.
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i))  # fault: bounds


def main(uninit):
    copy[(5,)](torch.ones(256, device="cuda"), torch.zeros(256, device="cuda"), 64)
    # fixed: copy[(4,)](torch.ones(256, device="cuda"), torch.zeros(256, device="cuda"), 64)

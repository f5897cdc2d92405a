# The last program stores past the end.
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, a * 2)  # fault: bounds
    # fixed: tl.store(out + i, a * 2, mask=i < n)


def main(uninit):
    double[(3,)](torch.ones(300, device="cuda"), torch.zeros(300, device="cuda"), 300, 128)

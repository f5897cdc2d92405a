# A stride in bytes is used where elements are meant.
import torch
import triton
import triton.language as tl


@triton.jit
def rows(x, out, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    a = tl.load(x + row * stride + i, mask=i < n, other=0.0)  # fault: bounds
    tl.store(out + row * n + i, a, mask=i < n)


def main(uninit):
    x, out = torch.ones(6, 30, device="cuda"), torch.zeros(6, 30, device="cuda")
    rows[(6,)](x, out, x.stride(0) * x.element_size(), 30, 32)
    # fixed: rows[(6,)](x, out, x.stride(0), 30, 32)

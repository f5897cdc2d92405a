# A tensor that is repeated along its rows, with a stride of zero, is taken for a dense one.
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, bias, out, sb, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    a = tl.load(x + row * n + i, mask=i < n, other=0.0)
    b = tl.load(bias + row * n + i, mask=i < n, other=0.0)  # fault: bounds
    # fixed: b = tl.load(bias + row * sb + i, mask=i < n, other=0.0)
    tl.store(out + row * n + i, a + b, mask=i < n)


def main(uninit):
    x, bias = torch.ones(8, 24, device="cuda"), torch.ones(24, device="cuda").expand(8, 24)
    add[(8,)](x, bias, torch.zeros(8, 24, device="cuda"), bias.stride(0), 24, 32)

# Masked lanes without a value are multiplied.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = (i[:, None] < n) & (i[None, :] < n)
    a = tl.load(x + i[:, None] * B + i[None, :], mask=m)
    # fixed: a = tl.load(x + i[:, None] * B + i[None, :], mask=m, other=0.0)
    c = tl.dot(a, a)  # fault: lint
    tl.store(out + tl.program_id(0) * B * B + i[:, None] * B + i[None, :], c)


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 10, 16)

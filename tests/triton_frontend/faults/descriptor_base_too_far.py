# A descriptor promises more rows than there are.
import torch
import triton
import triton.language as tl


@triton.jit
def rows(x, out, R, B: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, shape=[R, 16], strides=[16, 1], block_shape=[B, 16])
    a = desc.load([0, 0])  # fault: bounds
    i = tl.arange(0, B)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + i, a, mask=i < 96)


def main(uninit):
    x, out = torch.ones(6, 16, device="cuda"), torch.zeros(6, 16, device="cuda")
    rows[(1,)](x, out, 8, 8)
    # fixed: rows[(1,)](x, out, 6, 8)

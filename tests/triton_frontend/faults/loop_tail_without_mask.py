# A product whose inner dimension is no multiple of the block.
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K, BK: tl.constexpr):
    m = tl.arange(0, 16)[:, None]
    n = tl.arange(0, 16)[None, :]
    acc = tl.zeros((16, 16), tl.float32)
    for k in range(0, K, BK):
        kk = k + tl.arange(0, BK)
        x = tl.load(a + m * K + kk[None, :], mask=kk[None, :] < K, other=0.0)
        y = tl.load(b + kk[:, None] * 16 + n)  # fault: bounds
        # fixed: y = tl.load(b + kk[:, None] * 16 + n, mask=kk[:, None] < K, other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + m * 16 + n, acc)


def main(uninit):
    a, b = torch.ones(16, 40, device="cuda"), torch.ones(40, 16, device="cuda")
    matmul[(1,)](a, b, torch.zeros(16, 16, device="cuda"), 40, 16)

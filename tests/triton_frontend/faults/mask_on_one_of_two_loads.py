# Of two operands in a loop, only one load has a mask.
import torch
import triton
import triton.language as tl


@triton.jit
def dots(x, y, out, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        a = tl.load(x + i, mask=i < n, other=0.0)
        b = tl.load(y + i)  # fault: bounds
        # fixed: b = tl.load(y + i, mask=i < n, other=0.0)
        total += a * b
    tl.store(out, tl.sum(total, 0))


def main(uninit):
    x, y = torch.ones(200, device="cuda"), torch.ones(200, device="cuda")
    dots[(1,)](x, y, torch.zeros(1, device="cuda"), 200, 64)

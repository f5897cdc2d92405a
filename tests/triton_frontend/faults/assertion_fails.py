# An assertion of the kernel does not hold.
import torch
import triton
import triton.language as tl


@triton.jit(debug=True)
def check(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    tl.device_assert(a < n, "an index is too large")  # fault: assert
    # fixed: a = tl.minimum(a, n - 1)
    tl.store(out + i, a)


def main(uninit):
    x = torch.arange(32, device="cuda", dtype=torch.int32)
    check[(1,)](x, torch.zeros_like(x), 31, 32)

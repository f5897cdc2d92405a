# The last block reads the parts of the others after a relaxed count.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, count, n, B: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, B)
    tl.store(x + p, tl.sum(tl.load(out + i), 0))
    c = tl.atomic_add(count, 1, sem="relaxed")  # fault: lint
    # fixed: c = tl.atomic_add(count, 1, sem="acq_rel")
    if c == n - 1:
        tl.store(out + 2048, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, torch.zeros(1, dtype=torch.int32, device="cuda"), 2, 128)

# A lane is shifted by as many bits as it has.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    m = 1 << i  # fault: lint
    # fixed: m = 1 << (i % 32)
    tl.store(out + tl.program_id(0) * B + i, m.to(tl.float32))


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 64)

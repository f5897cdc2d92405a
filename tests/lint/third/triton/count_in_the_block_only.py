# Blocks add to one sum with the scope of a block.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i), 0), scope="cta")  # fault: lint
    # fixed: tl.atomic_add(out, tl.sum(tl.load(x + i), 0))


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 128)

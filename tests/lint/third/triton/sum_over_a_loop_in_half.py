# A loop adds 256 parts in half precision.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    s = tl.zeros((B,), tl.float16)
    # fixed: s = tl.zeros((B,), tl.float32)
    for k in range(256):
        s += tl.load(x + k * B + i).to(s.dtype)  # fault: lint
    tl.store(out + tl.program_id(0) * B + i, s.to(tl.float32))


def main(uninit):
    x = torch.ones(4096, device="cuda")
    out = torch.zeros(4096, device="cuda")
    kernel[(2,)](x, out, 16)

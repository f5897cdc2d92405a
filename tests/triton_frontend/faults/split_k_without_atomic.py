# Parts of a product over K are stored to the same tile.
import torch
import triton
import triton.language as tl


@triton.jit
def split_k(a, b, c, K, BK: tl.constexpr):
    m = tl.arange(0, 16)[:, None]
    n = tl.arange(0, 16)[None, :]
    k = tl.program_id(0) * BK + tl.arange(0, BK)
    part = tl.dot(tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * 16 + n))
    tl.store(c + m * 16 + n, part)  # fault: race
    # fixed: tl.atomic_add(c + m * 16 + n, part)


def main(uninit):
    a, b = torch.ones(16, 64, device="cuda"), torch.ones(64, 16, device="cuda")
    split_k[(4,)](a, b, torch.zeros(16, 16, device="cuda"), 64, 16)

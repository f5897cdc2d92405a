# A second kernel reads rows that the first one did not write.
import torch
import triton
import triton.language as tl


@triton.jit
def produce(out, rows, B: tl.constexpr):
    row = tl.program_id(0)
    last = rows - 1
    # fixed: last = rows
    if row < last:
        tl.store(out + row * B + tl.arange(0, B), 1.0)


@triton.jit
def consume(x, out, B: tl.constexpr):
    row = tl.program_id(0)
    s = tl.sum(tl.load(x + row * B + tl.arange(0, B)), 0)
    tl.store(out + row, s)  # fault: uninit


def main(uninit):
    middle = uninit(torch.empty(4, 16, device="cuda"))
    produce[(4,)](middle, 4, 16)
    consume[(4,)](middle, torch.zeros(4, device="cuda"), 16)

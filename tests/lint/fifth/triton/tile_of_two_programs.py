# Rows and columns of a tile are both the quotient, so that programs share tiles.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, COLUMNS: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    m = pid // COLUMNS
    n = pid // COLUMNS
    # fixed: n = pid % COLUMNS
    rows = m * B + tl.arange(0, B)
    columns = n * B + tl.arange(0, B)
    at = rows[:, None] * (COLUMNS * B) + columns[None, :]
    tl.store(out + at, pid)  # fault: race: two tile blocks


def main(uninit):
    out = torch.zeros(32 * 32, device="cuda", dtype=torch.int32)
    kernel[(4,)](out, 2, 16)

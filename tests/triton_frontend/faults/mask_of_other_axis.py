# The mask of the columns is made from the rows.
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    inside = (r < rows) & (c < columns)
    a = tl.load(x + r * columns + c, mask=inside)
    wrong = (r < columns) & (c < columns)
    tl.store(out + r * columns + c, a, mask=wrong)  # fault: bounds
    # fixed: tl.store(out + r * columns + c, a, mask=inside)


def main(uninit):
    copy[(1,)](torch.ones(5, 12, device="cuda"), torch.zeros(5, 12, device="cuda"), 5, 12, 16, 16)

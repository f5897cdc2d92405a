# A mask of zeros and ones is multiplied with minus infinity, which is NaN where the mask is zero.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    b = ct.bid(0)
    t = ct.load(x, index=(b, 0), shape=(1, 16), padding_mode=ct.PaddingMode.ZERO)
    column = ct.reshape(ct.arange(16, dtype=ct.int32), (1, 16))
    hidden = ct.where(column > b + 4, 1.0, 0.0)
    s = t + hidden * -float("inf")  # fault: nan
    # fixed: s = ct.where(hidden > 0.5, -float("inf"), t)
    e = ct.exp(s - ct.max(s, axis=1, keepdims=True))
    ct.store(out, index=(b, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


def main(uninit):
    x = np.ones((2, 16), np.float32)
    out = np.zeros((2, 16), np.float32)
    ct.launch(0, (2,), kernel, (x, out))

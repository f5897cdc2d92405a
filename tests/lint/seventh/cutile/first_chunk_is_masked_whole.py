# A softmax over chunks of columns begins with the last chunk, of which the first rows see nothing: their maximum is
# minus infinity then, and its difference to the maximum before is NaN.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    b = ct.bid(0)
    row = ct.reshape(ct.arange(8, dtype=ct.int32), (8, 1)) + b * 8
    m = ct.full((8, 1), -float("inf"), dtype=ct.float32)
    total = ct.zeros((8, 1), dtype=ct.float32)
    for k in range(b + 2):
        chunk = b + 1 - k
        # fixed: chunk = k
        s = ct.reshape(ct.load(x, index=(b, 0, chunk), shape=(1, 8, 8), padding_mode=ct.PaddingMode.ZERO), (8, 8))
        column = ct.reshape(ct.arange(8, dtype=ct.int32), (1, 8)) + chunk * 8
        s = ct.where(column <= row, s, -float("inf"))
        largest = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        total = total * ct.exp(m - largest) + ct.sum(ct.exp(s - largest), axis=1, keepdims=True)  # fault: nan
        m = largest
    ct.store(out, index=(b, 0, 0), tile=ct.reshape(total, (1, 8, 1)))


def main(uninit):
    x = np.ones((2, 8, 24), np.float32)
    out = np.zeros((2, 8, 1), np.float32)
    ct.launch(0, (2,), kernel, (x, out))

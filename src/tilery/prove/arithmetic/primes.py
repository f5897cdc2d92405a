"""Random pairs of primes p = 2q + 1, in which exponents are residues mod q and numbers are residues mod p."""

from __future__ import annotations

import random


def is_prime(n: int) -> bool:
    """Tell whether an odd number below 2**32 is prime.

    >>> [n for n in range(3, 40, 2) if is_prime(n)]
    [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
    """
    for small in (3, 5, 7):
        if n % small == 0:
            return n == small
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in (2, 7, 61):  # enough below 4,759,123,141
        x = pow(base, d, n)
        if base % n == 0 or x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def random_primes(rng: random.Random, below: int) -> tuple[int, int]:
    """Return random primes p = 2q + 1 with q between 2**29 and `below`.

    Both are 7 mod 8: then -1 is not a square, 2 is one, and roots are powers.
    """
    while True:
        q = rng.randrange(1 << 29, below) | 7
        if q < below and is_prime(q) and is_prime(2 * q + 1):
            return 2 * q + 1, q

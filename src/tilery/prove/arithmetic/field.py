"""Residues for floats: equal residues mean equal functions of real numbers, but for a small chance.

A code is a word: bits 0-30 are a residue mod p or `P_LOST`, bits 31-60 a residue mod q or `Q_LOST`, and bits 61-63 a
kind; p = 2q + 1, both prime. Sums, products and quotients keep both residues. `exp` reads the residue mod q and makes
one mod p; `log`, by a discrete logarithm, goes the other way. Functions without laws are random functions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...attrs import ComparisonPredicate
from ...engines.common.tiles import Array
from ...types import PaddingValue, Scalar
from .constants import Constants
from .logarithms import Logarithms
from .numbers import COMPARE, Beyond, NoSample, Numbers, Signs, U
from .primes import random_primes

FINITE, NEG, POS, UNDEF, NAN, UNKNOWN = 0, 1, 2, 3, 5, 6
"""Kinds. UNKNOWN: this sample does not know the number; UNDEF: the program does not define it."""
SHIFT, KIND = U(31), U(61)
P_LOST = (1 << 31) - 1
Q_LOST = (1 << 30) - 1
"""The residue is lost: a function of this number can only be a random function of the other residue."""
Q_UNKNOWN = Q_LOST - 1
"""The residue exists, but this sample does not know it."""
PM, QM, QU = U(P_LOST), U(Q_LOST), U(Q_UNKNOWN)
PADDING = {
    None: UNDEF << 61,
    PaddingValue.ZERO: 0,
    PaddingValue.NEG_ZERO: 0,
    PaddingValue.NAN: NAN << 61,
    PaddingValue.POS_INF: POS << 61,
    PaddingValue.NEG_INF: NEG << 61,
}


@dataclass(frozen=True, slots=True)
class Model:
    """How a sample reads operations of which residues keep no law. Every model is sound; they keep different laws."""

    maxima: str = "sets"
    """`sets`: a random function of the set of arguments. `choices`: one of two, by the sign of the difference."""
    logarithms: str = "function"
    """`function`: a random function. `discrete`: the inverse of exp, with log(ab) = log a + log b."""


def kind_of(a: Array) -> Array:
    return (a >> KIND).astype(np.int8)


def is_infinite(kind: Array) -> Array:
    infinite: Array = (kind == NEG) | (kind == POS)
    return infinite


def worst(a: Array, b: Array) -> Array:
    """The kind of a result from kinds of operands: undefined wins over unknown, that over NaN; else finite."""
    out = np.zeros(np.broadcast(a, b).shape, np.int8)
    for k in (NAN, UNKNOWN, UNDEF):
        out = np.where((a == k) | (b == k), k, out)
    return out


def with_kind(value: Array, kind: Array) -> Array:
    return np.where(kind == FINITE, value, kind.astype(U) << KIND)


class FieldSample(Numbers):
    """One random sample: primes, a root of unity, random functions. Two programs that are compared share it."""

    undefined = UNDEF << 61

    def __init__(self, seed: int, constants: Constants | None = None, model: Model | None = None) -> None:
        super().__init__()
        self.rng = random.Random(seed)
        self.model = model or Model()
        self.p, self.q = random_primes(self.rng, Q_UNKNOWN)
        self.P, self.Q = U(self.p), U(self.q)
        omega = 1
        while omega == 1:
            omega = pow(self.rng.randrange(2, self.p - 1), 2, self.p)  # squares are the group of order q
        self.logarithms = Logarithms(self.p, self.q, omega)
        self.powers = self.logarithms.powers
        self.arrays = np.random.default_rng(seed)
        self.constants = constants or Constants()
        self.ln2 = self.random_word()
        self.sets: dict[int, frozenset[int]] = {}
        """The set that a word is the maximum of."""
        self.maxima: dict[frozenset[int], int] = {}
        self.salts: dict[str, list[int]] = {}
        self.used: set[str] = set()
        """Features of the programs beyond field operations: `exp`, `roots`, `choices`, `functions`, `maxima`."""
        self.assumed: set[str] = set()
        """Constants that are read as irrational numbers or fractions."""

    # ------------------------------------------------------------ words

    def random_word(self) -> int:
        return self.rng.randrange(1, self.p) | self.rng.randrange(1, self.q) << 31

    def random(self, shape: tuple[int, ...]) -> Array:
        """Return random numbers, for the inputs of a program."""
        p = self.arrays.integers(1, self.p, shape, dtype=np.uint64)
        return p | self.arrays.integers(1, self.q, shape, dtype=np.uint64) << SHIFT

    def rational(self, x: Fraction) -> int:
        n, d = x.numerator, x.denominator
        return n % self.p * pow(d, -1, self.p) % self.p | (n % self.q * pow(d, -1, self.q) % self.q) << 31

    def exact(self, x: float) -> int:
        if x != x:
            return NAN << 61
        if x in (float("inf"), float("-inf")):
            return (POS if x > 0 else NEG) << 61
        return self.rational(Fraction(x))

    def constant(self, values: Array, element: Scalar) -> Array:
        distinct, where = np.unique(values, return_inverse=True)
        words = np.array([self._constant(float(v), element) for v in distinct], U)
        return words[where].reshape(values.shape)

    def differ(self, a: Array, b: Array) -> bool:
        return bool(differing(a, b)[0].any())

    def literal(self, values: Array) -> Array:
        distinct, where = np.unique(values, return_inverse=True)
        return np.array([self.exact(float(v)) for v in distinct], U)[where].reshape(values.shape)

    def _constant(self, value: float, element: Scalar) -> int:
        reading = self.constants.read(value, element)
        if reading is None:
            return self.exact(value)
        self.assumed.add(reading.text)
        word = np.array(self.rational(reading.factor), U)
        ln2 = np.array(self.ln2, U)
        if reading.ln2 > 0:
            word = self.mul(word, ln2)
        elif reading.ln2 < 0:
            word = self.mul(word, self.inverse(ln2))
        return int(word)

    def from_int(self, values: Array) -> Array:
        return (values % self.p).astype(U) | (values % self.q).astype(U) << SHIFT

    def to_int(self, a: Array, bits: int, signed: bool) -> Array:
        self.used.add("functions")
        made = self.function(f"integer {bits} {signed}", a)
        if (made >> KIND).any():
            raise NoSample
        low = (made & U((1 << min(bits, 31)) - 1)).astype(np.int64)
        return np.where(a == 0, 0, low)

    def padding(self, value: PaddingValue | None) -> int:
        return PADDING[value]

    def _joined(self, p: Array, q: Array, parts: list[tuple[Array, Array]]) -> Array:
        """Make words from residues, of which those are lost that an operand has lost."""
        ps, qs = [a for a, _ in parts], [b for _, b in parts]
        if any((x == PM).any() for x in ps):
            lost = np.logical_or.reduce(np.broadcast_arrays(*(x == PM for x in ps)))
            p = np.where(lost, PM, p)
        if any((x >= QU).any() for x in qs):
            lost = np.logical_or.reduce(np.broadcast_arrays(*(x == QM for x in qs)))
            unknown = np.logical_or.reduce(np.broadcast_arrays(*(x == QU for x in qs)))
            q = np.where(unknown, QU, np.where(lost, QM, q))
        made = p | q << SHIFT
        gone = (p == PM) & (q >= QU)
        return np.where(gone, U(UNKNOWN << 61), made) if gone.any() else made

    # ------------------------------------------------------------ arithmetic

    def add(self, a: Array, b: Array) -> Array:
        parts = [(x & PM, x >> SHIFT & QM) for x in (a, b)]
        (ap, aq), (bp, bq) = parts
        made = self._joined((ap + bp) % self.P, (aq + bq) % self.Q, parts)
        ka, kb = kind_of(a), kind_of(b)
        if not (ka.any() or kb.any()):
            return made
        made = np.where(a == 0, b, np.where(b == 0, a, made))
        out = np.where(kind_of(made) == UNKNOWN, UNKNOWN, worst(ka, kb))
        for s, t in ((NEG, POS), (POS, NEG)):
            clash = (ka == t) | (kb == t)
            out = np.where((out == FINITE) & ((ka == s) | (kb == s)), np.where(clash, NAN, s), out)
        return with_kind(made, out)

    def neg(self, a: Array) -> Array:
        p, q = a & PM, a >> SHIFT & QM
        made = self._joined((self.P - p) % self.P, (self.Q - q % self.Q) % self.Q, [(p, q)])
        k = kind_of(a)
        return with_kind(made, np.where(k == NEG, POS, np.where(k == POS, NEG, k))) if k.any() else made

    def mul(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array:
        parts = [(x & PM, x >> SHIFT & QM) for x in (a, b)]
        (ap, aq), (bp, bq) = parts
        made = self._joined(ap * bp % self.P, aq * bq % self.Q, parts)
        made = np.where((a == 0) | (b == 0), U(0), made)
        ka, kb = kind_of(a), kind_of(b)
        if ka.any() or kb.any():
            made = self._infinite_product(a, b, made, signs)
        if self.sets:
            for x, y, sign in ((a, b, signs[1]), (b, a, signs[0])):
                if sign > 0 and y.size and (y == y.flat[0]).all():
                    self._scale_sets(x, int(y.flat[0]), made)
        return made

    def _infinite_product(self, a: Array, b: Array, made: Array, signs: Signs) -> Array:
        a, b = np.broadcast_arrays(a, b)
        ka, kb = kind_of(a), kind_of(b)
        out = np.where(kind_of(made) == UNKNOWN, UNKNOWN, worst(ka, kb))
        out = np.where(is_infinite(ka) | is_infinite(kb), worst(ka, kb), out)
        for kx, other, ko, sign in ((ka, b, kb, signs[1]), (kb, a, ka, signs[0])):
            here = is_infinite(kx) & (out == FINITE)
            if not here.any():
                continue
            both, zero = here & is_infinite(ko), here & (ko == FINITE) & (other == 0)
            rest = here & ~both & ~zero
            out = np.where(both, np.where(kx == ko, POS, NEG), np.where(zero, NAN, out))
            if rest.any():
                if not sign:
                    raise Beyond("an infinity is multiplied by a number whose sign is not known")
                out = np.where(rest, kx if sign > 0 else np.where(kx == NEG, POS, NEG), out)
        return with_kind(made, out)

    def power_mod(self, a: Array, e: int, m: np.uint64) -> Array:
        out = np.ones_like(a)
        while e:
            if e & 1:
                out = out * a % m
            a = a * a % m
            e >>= 1
        return out

    def inverse(self, a: Array) -> Array:
        p, q = a & PM, a >> SHIFT & QM
        ip = self.power_mod(p % self.P, self.p - 2, self.P)
        iq = self.power_mod(q % self.Q, self.q - 2, self.Q)
        made = self._joined(ip, iq, [(p, q)])
        kind = kind_of(a)
        out = np.where(is_infinite(kind), FINITE, np.where(kind_of(made) == UNKNOWN, UNKNOWN, kind))
        made = np.where(is_infinite(kind), U(0), made)
        zero = (kind == FINITE) & (p == 0)  # a zero by chance is unknown, zero itself has no inverse
        return with_kind(made, np.where(zero, np.where(a == 0, NAN, UNKNOWN), out))

    def div(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array:
        return self.mul(a, self.inverse(b), signs)

    def matmul(self, a: Array, b: Array) -> Array:
        """Multiply matrices of finite words by four products of 16-bit halves, which f64 holds exactly."""
        ap, bp = a & PM, b & PM
        if (a >> KIND).any() or (b >> KIND).any() or (ap == PM).any() or (bp == PM).any() or a.shape[-1] > 1 << 19:
            return super().matmul(a, b)
        p = self._matmul(ap, bp, self.p)
        aq, bq = a >> SHIFT & QM, b >> SHIFT & QM
        lost_a, lost_b = aq >= QU, bq >= QU
        q = self._matmul(np.where(lost_a, U(0), aq), np.where(lost_b, U(0), bq), self.q)
        if lost_a.any() or lost_b.any():
            # A zero times a lost residue is zero, as in `mul`.
            least = QU if (aq == QU).any() or (bq == QU).any() else QM
            some_a, some_b = (a != 0).astype(np.float64), (b != 0).astype(np.float64)
            hidden = np.matmul(lost_a.astype(np.float64), some_b) + np.matmul(some_a, lost_b.astype(np.float64))
            q = np.where(hidden > 0, least, q)
        made: Array = p | q << SHIFT
        return made

    def _matmul(self, a: Array, b: Array, m: int) -> Array:
        (al, ah), (bl, bh) = (((x & U(0xFFFF)).astype(np.float64), (x >> U(16)).astype(np.float64)) for x in (a, b))
        modulus = U(m)
        low, high = (np.matmul(x, y).astype(U) % modulus for x, y in ((al, bl), (ah, bh)))
        middle = (np.matmul(al, bh) + np.matmul(ah, bl)).astype(U) % modulus
        made: Array = (low + middle * U((1 << 16) % m) % modulus + high * U((1 << 32) % m) % modulus) % modulus
        return made

    # ------------------------------------------------------------ functions

    def function(self, name: str, *args: Array) -> Array:
        self.used.add("functions")
        for a in args:
            if is_infinite(kind_of(a)).any():
                raise Beyond(f"{name} of an infinity")
        salts = self.salts.setdefault(name, [self.rng.getrandbits(63) for _ in range(3)])
        s = [U(x) for x in salts]
        with np.errstate(over="ignore"):
            h = np.zeros(np.broadcast_shapes(*(a.shape for a in args)), U) + s[0]
            for a in args:
                p, q = a & PM, a >> SHIFT & QM
                h = (h ^ np.where(p == PM, q | U(1 << 40), p)) * U(0x9E3779B97F4A7C15)
                h ^= h >> U(29)
                h = (h + s[1]) * U(0xBF58476D1CE4E5B9)
                h ^= h >> U(32)
            other = (h ^ s[2]) * U(0x94D049BB133111EB)
            other ^= other >> U(31)
        kind = np.zeros(h.shape, np.int8)
        for a in args:
            kind = worst(kind, kind_of(a))
        return with_kind(h % self.P | other % self.Q << SHIFT, kind)

    def exp(self, a: Array) -> Array:
        self.used.add("exp")
        kind, q = kind_of(a), a >> SHIFT & QM
        lost = (q == QM) & (kind == FINITE)
        if lost.any():  # an exponent that contains exp: some function, of which no law is used
            q = np.where(lost, self.function("exp", np.where(lost, a, U(0))) >> SHIFT & QM, q)
        t = self.powers
        made = t[0][q & U(255)] * t[1][q >> U(8) & U(255)] % self.P
        made = made * t[2][q >> U(16) & U(255)] % self.P * t[3][q >> U(24)] % self.P
        made = np.where(a == 0, U(1 | 1 << 31), made | QM << SHIFT)
        kind = np.where((kind == FINITE) & (q == QU), UNKNOWN, kind)
        made = np.where(kind == NEG, U(0), made)
        return with_kind(made, np.where(kind == NEG, FINITE, kind))

    def exp2(self, a: Array) -> Array:
        return self.exp(np.where(kind_of(a) == FINITE, self.mul(a & U((1 << 61) - 1), np.array([self.ln2], U)), a))

    def log(self, a: Array) -> Array:
        self.used.add("logarithms")
        kind = kind_of(a)
        zero, infinite = a == 0, kind == POS
        plain = np.where(zero | infinite, U(1 | 1 << 31), a)
        if self.model.logarithms == "discrete":
            self.used.add("discrete logarithms")
            made = self._discrete(plain)
        else:
            made = self.function("log", plain)
        made = np.where(a == U(1 | 1 << 31), U(0), made)
        return np.where(zero, U(NEG << 61), np.where(infinite, U(POS << 61), made))

    def _discrete(self, a: Array) -> Array:
        kind, p = kind_of(a), a & PM
        kind = np.where((kind == FINITE) & (p == PM), UNKNOWN, kind)
        found = self.logarithms.of(np.where(kind == FINITE, p, U(1)))
        kind = np.where((kind == FINITE) & (found < 0), UNKNOWN, kind)  # not a power of the root
        return with_kind(PM | found.astype(U) << SHIFT, kind)

    def log2(self, a: Array) -> Array:
        return self.div(self.log(a), np.array([self.ln2], U), (0, 1))

    def sqrt(self, a: Array) -> Array:
        self.used.add("roots")
        kind, p, q = kind_of(a), a & PM, a >> SHIFT & QM
        rp = self.power_mod(p % self.P, (self.p + 1) // 4, self.P)
        rq = self.power_mod(q % self.Q, (self.q + 1) // 4, self.Q)
        bad = (p != PM) & (rp * rp % self.P != p)
        rq = np.where((q < QU) & (rq * rq % self.Q != q), QU, rq)
        made = self._joined(rp, rq, [(p, np.where(rq == QU, QU, q))])
        kind = np.where((kind == FINITE) & (bad | (kind_of(made) == UNKNOWN)), UNKNOWN, kind)
        return with_kind(made, kind)

    def tanh(self, a: Array) -> Array:
        one = np.array([1 | 1 << 31], U)
        kind = kind_of(a)
        e = self.exp(np.where(is_infinite(kind), U(0), self.add(a, a)))
        made = self.div(self.sub(e, one), self.add(e, one))
        made = np.where(kind == POS, one, made)
        return np.where(kind == NEG, self.neg(one), made)

    # ------------------------------------------------------------ order

    def _sign(self, d: Array) -> Array:
        """A random sign for each difference, opposite for opposite differences, and 0 for 0."""
        self.used.add("choices")
        p, q = d & PM, d >> SHIFT & QM
        by_p = p != PM
        value, modulus = np.where(by_p, p, q % self.Q), np.where(by_p, self.P, self.Q)
        least = np.minimum(value, (modulus - value) % modulus)
        bit = self.function("sign", least) & U(1)
        sign = np.where((bit == 1) == (value == least), 1, -1)
        return np.where(d == 0, 0, sign)

    def compare(self, predicate: ComparisonPredicate, unordered: bool, a: Array, b: Array) -> Array:
        a, b = np.broadcast_arrays(a, b)
        ka, kb = kind_of(a), kind_of(b)
        if ((ka == UNKNOWN) | (kb == UNKNOWN)).any():
            raise NoSample
        if ((ka == UNDEF) | (kb == UNDEF)).any():
            raise Beyond("a comparison with an undefined value")
        nan = (ka == NAN) | (kb == NAN)
        rank_a, rank_b = (np.select([k == NEG, k == POS], [-1, 1], 0) for k in (ka, kb))
        sign = np.sign(rank_a - rank_b)
        both = (ka == FINITE) & (kb == FINITE) & (a != b)
        if both.any():
            zero = U(0)
            d = self.sub(np.where(both, a, zero), np.where(both, b, zero))
            if (d >> KIND).any():
                raise NoSample
            sign = np.where(both, self._sign(d), sign)
        return np.where(nan, unordered, COMPARE[predicate](sign, 0))

    def max(self, a: Array, b: Array, propagate: bool = False) -> Array:
        self.used.add("maxima")
        a, b = np.broadcast_arrays(a, b)
        if self.model.maxima == "choices":
            return self._larger(a, b, propagate)
        pairs = zip(a.ravel().tolist(), b.ravel().tolist())
        made = [x if x == y else self._maximum((x, y), propagate) for x, y in pairs]
        return np.array(made, U).reshape(a.shape)

    def _larger(self, a: Array, b: Array, propagate: bool) -> Array:
        ka, kb = kind_of(a), kind_of(b)
        out = worst(ka, kb)
        usable = (out == FINITE) | (out == NAN)
        zero = U(0)
        less = self.compare(ComparisonPredicate.LESS_THAN, False, np.where(usable, a, zero), np.where(usable, b, zero))
        made = np.where(less, b, a)
        if not propagate:
            made = np.where(ka == NAN, b, np.where(kb == NAN, a, made))
            out = np.where(out == NAN, kind_of(made), out)
        return np.where(usable & (out != NAN), made, out.astype(U) << KIND)

    def max_along(self, a: Array, axis: int, propagate: bool = False) -> Array:
        if self.model.maxima == "choices":
            return super().max_along(a, axis, propagate)
        self.used.add("maxima")
        a = np.moveaxis(a, axis, -1)
        rows = a.reshape(-1, a.shape[-1]).tolist()
        return np.array([self._maximum(row, propagate) for row in rows], U).reshape(a.shape[:-1])

    def _maximum(self, words: list[int] | tuple[int, ...], propagate: bool) -> int:
        """The maximum of numbers is a random function of the set of those that are not themselves maxima."""
        members: set[int] = set()
        single, nans, out = None, 0, 0
        for w in words:
            kind = w >> 61
            if kind == NAN:
                nans += 1
            elif kind in (UNKNOWN, UNDEF):
                out = max(out, {UNKNOWN: 3, UNDEF: 4}[kind])
            elif kind == POS:
                out = max(out, 1)
            elif kind == FINITE:
                known = self.sets.get(w)
                members |= {_identity(w)} if known is None else known
                single = w
        if out >= 3 or (nans and (propagate or nans == len(words))):
            return (UNDEF if out == 4 else UNKNOWN if out == 3 else NAN) << 61
        if out or not members:
            return (POS if out else NEG) << 61
        if len(members) == 1 and single is not None:
            return single
        key = frozenset(members)
        made = self.maxima.get(key)
        if made is None:
            made = self.maxima[key] = self.random_word()
            self.sets[made] = key
        return made

    def _scale_sets(self, words: Array, factor: int, products: Array) -> None:
        """Note that c max(s) is max(c s) for a positive c."""
        if factor >> 61 or factor & P_LOST == P_LOST:
            return
        c = factor & P_LOST
        flat = np.broadcast_to(words, products.shape).ravel().tolist()
        for w, product in zip(flat, products.ravel().tolist()):
            known = self.sets.get(w)
            if known is not None and product not in self.sets and not any(m >> 31 for m in known):
                key = frozenset(m * c % self.p for m in known)
                if self.maxima.setdefault(key, product) == product:
                    self.sets[product] = key


def _identity(word: int) -> int:
    """The identity of a number: its residue mod p, or mod q if that is lost."""
    return word >> 31 | 1 << 31 if word & P_LOST == P_LOST else word & P_LOST


def differing(x: Array, y: Array) -> tuple[Array, Array]:
    """Return where words show different numbers, and where they show equal ones; elsewhere they show nothing."""
    kx, ky = kind_of(x), kind_of(y)
    silent = (kx == UNKNOWN) | (ky == UNKNOWN)
    (px, qx), (py, qy) = ((v & PM, v >> SHIFT & QM) for v in (x, y))
    finite = (kx == FINITE) & (ky == FINITE)
    by_p, by_q = (px != PM) & (py != PM), (qx < QU) & (qy < QU)
    differ = ~silent & ((kx != ky) | (finite & ((by_p & (px != py)) | (by_q & (qx != qy)))))
    return differ, finite & (by_p | by_q) & ~differ

"""Kernels that try every operation on elements, in every form, with the values where rules and folds may go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from golden.expressions import FLOATS, INTEGERS, OVERFLOWS, PREDICATES, SIGNS, SPECIAL
from tilery.attrs import RoundingMode
from tilery.types import SCALARS

MODES = ("", *(f" rounding<{mode.name.lower()}>" for mode in RoundingMode))
FLUSH = ("", " flush_to_zero")
LIMITS = ("", " flush_to_zero", " propagate_nan", " flush_to_zero propagate_nan")
NARROW_FLOATS = [name for name, scalar in SCALARS.items() if scalar.is_float and name not in FLOATS]


@dataclass(frozen=True)
class Form:
    """An operation in one form: text with `{a}` for the type of its operands and `{r}` for that of its result."""

    text: str
    out: str
    """The element type of the result."""


def float_forms(element: str) -> Iterator[list[Form]]:
    """Yield the forms of each operation on floats, legal or not."""
    for name in ("addf", "subf", "mulf", "divf"):
        yield [Form(f"{name} %a, %b{mode}{flush} : {{a}}", element) for mode, flush in product(MODES, FLUSH)]
    yield [Form(f"fma %a, %b, %c{mode}{flush} : {{a}}", element) for mode, flush in product(MODES, FLUSH)]
    yield [Form(f"sqrt %a{mode}{flush} : {{a}}", element) for mode, flush in product(MODES, FLUSH)]
    for name in ("maxf", "minf"):
        yield [Form(f"{name} %a, %b{flags} : {{a}}", element) for flags in LIMITS]
    yield [Form(f"{name} %a{mode} : {{a}}", element) for name, mode in product(("exp", "tanh"), MODES)]
    yield [Form(f"{name} %a{flush} : {{a}}", element) for name, flush in product(("exp2", "rsqrt"), FLUSH)]
    names = ("negf", "absf", "floor", "ceil", "cos", "cosh", "sin", "sinh", "tan", "log", "log2")
    yield [Form(f"{name} %a : {{a}}", element) for name in names]
    yield [Form(f"{name} %a, %b : {{a}}", element) for name in ("remf", "pow", "atan2")]
    orders = product(PREDICATES, ("ordered", "unordered"))
    yield [Form(f"cmpf {predicate} {order} %a, %b : {{a}} -> {{r}}", "i1") for predicate, order in orders]
    for out in ("i1", *INTEGERS):
        modes = product(SIGNS, ("", " rounding<nearest_int_to_zero>", " rounding<zero>"), ("", " saturating"))
        yield [Form(f"ftoi %a {sign}{mode}{more} : {{a}} -> {{r}}", out) for sign, mode, more in modes]
    for out in (*FLOATS, *NARROW_FLOATS):
        yield [Form(f"ftof %a{mode} : {{a}} -> {{r}}", out) for mode in MODES]


def integer_forms(element: str) -> Iterator[list[Form]]:
    """Yield the forms of each operation on integers, legal or not."""
    for name in ("addi", "subi", "muli", "shli"):
        yield [Form(f"{name} %a, %b{overflow} : {{a}}", element) for overflow in OVERFLOWS[1:]]
    yield [Form(f"{name} %a, %b : {{a}}", element) for name in ("andi", "ori", "xori", "mulhii")]
    yield [Form(f"{name} %a, %b {sign} : {{a}}", element) for name, sign in product(("mini", "maxi", "shri"), SIGNS)]
    modes = ("", " rounding<zero>", " rounding<positive_inf>", " rounding<negative_inf>", " rounding<nearest_even>")
    yield [Form(f"divi %a, %b {sign}{mode} : {{a}}", element) for sign, mode in product(SIGNS, modes)]
    yield [Form(f"remi %a, %b {sign} : {{a}}", element) for sign in SIGNS]
    yield [
        Form("absi %a : {a}", element),
        *(Form(f"negi %a{overflow} : {{a}}", element) for overflow in OVERFLOWS[1:]),
    ]
    predicates = product(PREDICATES, SIGNS)
    yield [Form(f"cmpi {predicate} %a, %b, {sign} : {{a}} -> {{r}}", "i1") for predicate, sign in predicates]
    for out in ("i1", *INTEGERS):
        yield [
            *(Form(f"exti %a {sign} : {{a}} -> {{r}}", out) for sign in SIGNS),
            *(Form(f"trunci %a{overflow} : {{a}} -> {{r}}", out) for overflow in OVERFLOWS[1:]),
        ]
    for out in (*FLOATS, *NARROW_FLOATS):
        yield [Form(f"itof %a {sign}{mode} : {{a}} -> {{r}}", out) for sign, mode in product(SIGNS, MODES)]
    yield [Form("bitcast %a : {a} -> {r}", out) for out in ("i1", *INTEGERS, *FLOATS, *NARROW_FLOATS)]


def odd_values(element: str) -> list[int]:
    """Return sixteen patterns of bits: ends of ranges, NaNs with payloads, subnormals, and some ordinary numbers."""
    bits = SCALARS[element].bits
    top = 1 << bits - 1
    if element == "i1":
        return [0, 1] * 8
    if element == "bf16":
        found = [value >> 16 for value in SPECIAL["f32"]]
    elif element in SPECIAL:
        found = list(SPECIAL[element])
    else:
        found = [
            0,
            1,
            2,
            3,
            5,
            7,
            8,
            top - 1,
            top,
            top + 1,
            2 * top - 1,
            2 * top - 2,
            2 * top - 3,
            2 * top - 7,
            bits,
            top // 2,
        ]
    return [*found, found[3] + 1, found[3] + 5][:16]


def odd_rows(element: str) -> list[tuple[int, int, int]]:
    """Return 256 rows of three values: all pairs of odd values with a third, or all patterns of at most eight bits."""
    if element in NARROW_FLOATS and SCALARS[element].bits <= 8:
        return [(n, 255 - n, n) for n in range(256)]
    values = odd_values(element)
    return [(one, other, values[(3 * n + m) % 16]) for n, one in enumerate(values) for m, other in enumerate(values)]


@dataclass(frozen=True)
class Kernel:
    """A kernel that stores what some forms of an operation make of 256 rows of values, and the types of its results."""

    text: str
    outs: list[str]


def kernel_of(element: str, forms: list[Form]) -> Kernel:
    """Return a kernel with the arguments `%x`, a pointer to three times 256 elements, and a pointer for each result."""
    type = f"tile<256x{element}>"
    lines = ["%iota = iota : tile<256xi32>"]

    def places(name: str, element: str) -> str:
        kind = f"tile<256xptr<{element}>>"
        lines.append(f"%{name}1 = reshape %{name}0 : tile<ptr<{element}>> -> tile<1xptr<{element}>>")
        lines.append(f"%{name}2 = broadcast %{name}1 : tile<1xptr<{element}>> -> {kind}")
        lines.append(f"%{name} = offset %{name}2, %iota : {kind}, tile<256xi32> -> {kind}")
        return kind

    for name in "abc":
        kind = places(f"p{name}", element)
        lines.append(f"%{name}, %t{name} = load_ptr_tko weak %p{name} : {kind} -> {type}, token")
    head = [f"%p{name}0: tile<ptr<{element}>>" for name in "abc"]
    for number, form in enumerate(forms):
        result = f"tile<256x{form.out}>"
        lines.append(f"%r{number} = " + form.text.format(a=type, r=result))
        kind = places(f"w{number}_", form.out)
        lines.append(f"%u{number} = store_ptr_tko weak %w{number}_, %r{number} : {kind}, {result} -> token")
        head.append(f"%w{number}_0: tile<ptr<{form.out}>>")
    return Kernel(
        f"entry @k({', '.join(head)}) {{\n" + "\n".join(lines) + "\nreturn\n}\n", [each.out for each in forms]
    )


# ---------------------------------------------------------------- operations with constants


BINARY = [
    *("addi %s, %s : {t}", "subi %s, %s : {t}", "muli %s, %s : {t}", "muli %s, %s overflow<no_wrap> : {t}"),
    *("andi %s, %s : {t}", "ori %s, %s : {t}", "xori %s, %s : {t}", "shli %s, %s : {t}", "mulhii %s, %s : {t}"),
    *("addi %s, %s overflow<no_signed_wrap> : {t}", "addi %s, %s overflow<no_unsigned_wrap> : {t}"),
    *(f"{name} %s, %s {sign} : {{t}}" for name in ("mini", "maxi", "shri", "divi", "remi") for sign in SIGNS),
    *(f"divi %s, %s signed rounding<{mode}_inf> : {{t}}" for mode in ("positive", "negative")),
]
COMPARED = [f"cmpi {predicate} %s, %s, {sign} : {{t}} -> {{m}}" for predicate in PREDICATES for sign in SIGNS]


def constants_of(bits: int) -> list[int]:
    top = 1 << bits - 1
    return [0, 1, -1, 2, -2, 3, 4, bits - 1, top - 1, -top, top - 2, 1 - top]


class _Lines:
    """The body of a kernel that prints every result."""

    def __init__(self, bits: int) -> None:
        self.tiled = bits in (16, 64)
        shape = "4x" if self.tiled else ""
        self.bits, self.type, self.mask = bits, f"tile<{shape}i{bits}>", f"tile<{shape}i1>"
        self.lines: list[str] = []
        self.shown: list[tuple[str, str]] = []
        self.constants: dict[int, str] = {}

    def constant(self, value: int) -> str:
        if value not in self.constants:
            name = self.constants[value] = f"%c{len(self.constants)}"
            self.lines.append(f"{name} = constant <i{self.bits}: {value}> : {self.type}")
        return self.constants[value]

    def put(self, text: str, type: str = "") -> str:
        name = f"%r{len(self.lines)}"
        self.lines.append(f"{name} = " + text.replace("{t}", self.type).replace("{m}", self.mask))
        self.shown.append((name, type or self.type))
        return name

    def hide(self) -> None:
        """Leave the last result out of what is printed."""
        self.shown.pop()

    def kernel(self) -> str:
        lines = list(self.lines)
        for at in range(0, len(self.shown), 16):
            part = self.shown[at : at + 16]
            names, types = ", ".join(name for name, _ in part), ", ".join(type for _, type in part)
            lines.append(f'%t{at} = print_tko "{" ".join(["%i"] * len(part))}\\n", {names} : {types} -> token')
        head, spread = [], []
        for name, element in (("x", f"i{self.bits}"), ("y", f"i{self.bits}"), ("m", "i1")):
            head.append(f"%{name}{'0' * self.tiled}: tile<{element}>")
            spread.append(f"%{name}1 = reshape %{name}0 : tile<{element}> -> tile<1x{element}>")
            spread.append(f"%{name} = broadcast %{name}1 : tile<1x{element}> -> tile<4x{element}>")
        lines = [*(spread if self.tiled else ()), *lines]
        return f"entry @k({', '.join(head)}) {{\n" + "\n".join(lines) + "\nreturn\n}\n"


def single_laws(bits: int) -> Iterator[str]:
    """Yield a kernel for each operation: with each constant on either side, with two, and with one value twice."""
    for text in (*BINARY, *COMPARED):
        k = _Lines(bits)
        kind = k.mask if text.startswith("cmpi") else ""
        for value in constants_of(bits):
            c = k.constant(value)
            k.put(text % ("%x", c), kind)
            k.put(text % (c, "%x"), kind)
            k.put(text % (c, k.constant(constants_of(bits)[value % 7])), kind)
        k.put(text % ("%x", "%x"), kind)
        k.put(text % ("%x", "%y"), kind)
        yield k.kernel()


def paired_laws(bits: int) -> Iterator[str]:
    """Yield a kernel for each operation: applied to the result of each other one, with constants that differ or not."""
    values = constants_of(bits)
    for number, outer in enumerate(BINARY):
        k = _Lines(bits)
        for at, inner in enumerate(BINARY):
            for again in range(2):
                one = values[(number + 3 * at + 5 * again) % len(values)]
                two = one if (at + again) % 3 == 0 else values[(2 * number + at + 7 * again) % len(values)]
                first, second = k.constant(one), k.constant(two)
                made = k.put(inner % (("%x", first) if again == 0 else (first, "%x") if at % 2 else ("%x", "%y")))
                k.hide()
                k.put(outer % ((made, second) if (at + again) % 2 == 0 else (second, made)))
                if again:
                    k.put(outer % ((made, "%y") if at % 2 else ("%x", made)))
        yield k.kernel()


def compared_laws(bits: int) -> Iterator[str]:
    """Yield kernels with two comparisons of a value with constants that are near each other, joined in each way."""
    top = 1 << bits - 1
    bases = (5, top - 2, 1 - top, 1, -2, 0, -top, top - 1)
    for number, one in enumerate(COMPARED):
        k = _Lines(bits)
        for at, two in enumerate(COMPARED):
            for step in (-2, -1, 0, 1, 2):
                base = bases[(number + at + 3 * step) % len(bases)]
                first = k.put(one % ("%x", k.constant(base)), k.mask)
                k.hide()
                second = k.put(two % ("%x", k.constant(max(-top, min(top - 1, base + step)))), k.mask)
                k.hide()
                for name in ("andi", "ori", "xori"):
                    k.put(f"{name} {first}, {second} : {{m}}", k.mask)
        yield k.kernel()


def chosen_laws(bits: int) -> Iterator[str]:
    """Yield a kernel for each comparison: of what another operation makes of a value, and what is chosen by it."""
    values = constants_of(bits)
    for number, text in enumerate(COMPARED):
        k = _Lines(bits)
        for at, inner in enumerate(BINARY):
            first, second = (k.constant(values[(n * at + number + n) % len(values)]) for n in (3, 1))
            made = k.put(inner % (("%x", first) if at % 3 else (first, "%x")))
            k.hide()
            mask = k.put(text % ((made, second) if at % 2 else (second, made)), k.mask)
            arms = (("%x", "%y"), (first, second), (made, second), ("%x", first), ("%y", made))[at % 5]
            k.put(f"select {mask}, {arms[0]}, {arms[1]} : {k.mask}, {k.type}")
            yes, no = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 2), (0, 0))[at % 6]
            k.put(f"select {mask}, {k.constant(yes)}, {k.constant(no)} : {{m}}, {k.type}")
            other = k.put(text % ("%x", "%y"), k.mask)
            k.hide()
            k.put(f"{('andi', 'ori', 'xori')[at % 3]} {mask}, {(other, '%m')[at % 2]} : {{m}}", k.mask)
        yield k.kernel()


def long_kernels() -> Iterator[str]:
    """Yield kernels with long sums, conjunctions and chains, of as many terms as rules look at, or one more."""
    for count in (16, 31, 32, 33, 34, 63, 64, 65, 130):
        for name, balanced in (("addi", False), ("addi", True), ("andi", False), ("andi", True), ("maxi", True)):
            k = _Lines(32)
            terms = []
            for number in range(count):
                mixed = k.put(f"xori %x, {k.constant(number + 5)} : {{t}}")
                k.hide()
                if name == "andi":
                    mixed = k.put(f"cmpi less_than {mixed}, {k.constant(number)}, signed : {{t}} -> {{m}}", k.mask)
                    k.hide()
                terms.append(mixed)
            type = "{m}" if name == "andi" else "{t}"
            more = " signed" if name == "maxi" else ""
            while len(terms) > 1:
                pairs = list(zip(terms[::2], terms[1::2])) if balanced else [(terms[0], terms[1])]
                rest = terms[2 * len(pairs) :]
                made = []
                for a, b in pairs:
                    made.append(k.put(f"{name} {a}, {b}{more} : {type}", k.mask if name == "andi" else ""))
                    k.hide()
                terms = [*made, *rest]
            k.put(f"{name} {terms[0]}, {terms[0]}{more} : {type}", k.mask if name == "andi" else "")
            yield k.kernel()
    for depth in (15, 16, 17, 31, 32, 33, 34, 64, 127, 128, 129, 255, 256, 257, 300):
        for names in (("xori", "addi"), ("muli", "addi", "ori"), ("shli", "subi")):
            k = _Lines(32)
            value = "%x"
            for number in range(depth):
                value = k.put(
                    f"{names[number % len(names)]} {value}, {('%y', k.constant(3 + number % 4))[number % 2]} : {{t}}"
                )
                k.hide()
            k.put(f"andi {value}, {k.constant(255)} : {{t}}")
            yield k.kernel()

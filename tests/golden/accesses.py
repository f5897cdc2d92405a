"""Random kernels that load and store through pointers in every pattern, and that reduce in every way."""

from __future__ import annotations

import random
from collections.abc import Iterator

SHAPES = ("16x", "16x", "8x", "4x16x", "16x4x", "2x4x8x", "1x16x", "4x1x")
ELEMENTS = ("i1", "i8", "i16", "i32", "f32", "f64", "i64", "bf16")


class _Body:
    """The lines of a kernel, with values of any shape made from scalars."""

    def __init__(self, shape: str, rng: random.Random) -> None:
        self.shape, self.rng, self.lines = shape, rng, list[str]()
        self.sizes = [int(size) for size in shape[:-1].split("x")]

    def put(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def spread(self, scalar: str, element: str) -> str:
        ones = "1x" * len(self.sizes)
        one = self.put(f"reshape {scalar} : tile<{element}> -> tile<{ones}{element}>")
        return self.put(f"broadcast {one} : tile<{ones}{element}> -> tile<{self.shape}{element}>")

    def number(self, value: int) -> str:
        return self.put(f"constant <i32: {value}> : tile<{self.shape}i32>")

    def along(self, dim: int) -> str:
        """Return the index of each element along a dimension."""
        size = self.sizes[dim]
        ones = "".join(f"{size if at == dim else 1}x" for at in range(len(self.sizes)))
        iota = self.put(f"iota : tile<{size}xi32>")
        one = self.put(f"reshape {iota} : tile<{size}xi32> -> tile<{ones}i32>")
        return self.put(f"broadcast {one} : tile<{ones}i32> -> tile<{self.shape}i32>")

    def both(self, name: str, a: str, b: str, more: str = "") -> str:
        return self.put(f"{name} {a}, {b}{more} : tile<{self.shape}i32>")

    def places(self) -> str:
        """Return where each element is: in rows that are contiguous or nearly so, scattered, or all at one place."""
        pick, count = self.rng.choice, len(self.sizes)
        strides, step = [1] * count, pick((1, 1, 1, 1, 2, 3, -1, 0))
        for dim in range(count - 1, -1, -1):
            strides[dim] = step
            step *= self.sizes[dim]
            step += pick((0, 0, 0, 1, 16, -step))
        if self.rng.random() < 0.2:
            self.rng.shuffle(strides)
        total = self.number(pick((0, 0, 1, 3, 64, 120)))
        for dim, stride in enumerate(strides):
            total = self.both("addi", total, self.both("muli", self.along(dim), self.number(stride)))
        match self.rng.randrange(6):
            case 0:
                total = self.both("xori", total, self.number(pick((1, 2, 5, 8))))
            case 1:
                total = self.both("remi", total, self.number(pick((1, 3, 4, 15))), " unsigned")
            case 2:
                late = self.both("divi", total, self.number(pick((7, 8, 12))), " signed")
                total = self.both("addi", total, late)
        if self.rng.random() < 0.6:
            block = self.both("muli", self.spread("%bx", "i32"), self.number(pick((1, 8, 16, 32, 64))))
            total = self.both("addi", total, block)
        return total

    def mask(self) -> str:
        """Return a mask, or nothing: parts of each row, whole rows, scattered lanes, all, or none."""
        pick = self.rng.choice
        kind = self.rng.randrange(8)
        type = f"tile<{self.shape}i1>"
        if kind == 0:
            return ""
        if kind == 1:
            return self.put(f"constant <i1: {pick(('true', 'false'))}> : {type}")
        if kind == 2:
            scalar = self.put(f"cmpi {pick(('less_than', 'equal'))} %bx, %n, signed : tile<i32> -> tile<i1>")
            return self.spread(scalar, "i1")
        if kind == 3:
            bit = self.both("andi", self.along(len(self.sizes) - 1), self.number(pick((1, 2, 5))))
            return self.put(f"cmpi not_equal {bit}, {self.number(0)}, signed : tile<{self.shape}i32> -> {type}")
        index = self.along(self.rng.randrange(len(self.sizes)) if kind == 4 else len(self.sizes) - 1)
        limit = pick((self.number(pick((0, 1, 5, 15, 16))), self.spread("%n", "i32"), self.spread("%bx", "i32")))
        predicate = pick(("less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal", "equal"))
        found = self.put(f"cmpi {predicate} {index}, {limit}, signed : tile<{self.shape}i32> -> {type}")
        if kind == 7:
            low = self.number(pick((1, 2, 9)))
            other = self.put(f"cmpi greater_than {index}, {low}, signed : tile<{self.shape}i32> -> {type}")
            found = self.put(f"andi {found}, {other} : {type}")
        return found


def access_kernel(rng: random.Random) -> tuple[str, str]:
    """Return a kernel that copies from one array to another, and the type of their elements."""
    pick = rng.choice
    element, body = pick(ELEMENTS), _Body(pick(SHAPES), rng)
    shape, kind = body.shape, f"tile<{body.shape}ptr<{element}>>"
    type, mask = f"tile<{shape}{element}>", f"tile<{shape}i1>"
    body.lines.append("%bx, %by, %bz = get_tile_block_id : tile<i32>")

    def pointers(base: str, places: str) -> str:
        return body.put(f"offset {body.spread(base, f'ptr<{element}>')}, {places} : {kind}, tile<{shape}i32> -> {kind}")

    places = body.places()
    source, chosen = pointers("%p", places), body.mask()
    operands, types = source, kind
    if chosen:
        operands, types = f"{operands}, {chosen}", f"{types}, {mask}"
        zero = "true" if element == "i1" else "3" if element[0] == "i" else "1.5"
        own = "%bx"
        if element != "i32":
            to = {"f": "itof %bx signed", "b": "itof %bx signed"}.get(element[0], "exti %bx signed")
            own = body.put(f"{'trunci %bx' if element in ('i1', 'i8', 'i16') else to} : tile<i32> -> tile<{element}>")
        uniform = body.put(f"constant <{element}: {zero}> : {type}")
        padding = (uniform, body.spread("%z", element), "", body.spread(own, element))[rng.randrange(4)]
        if padding:
            operands, types = f"{operands}, {padding}", f"{types}, {type}"
    body.lines.append(f"%a, %t = load_ptr_tko weak {operands} : {types} -> {type}, token")
    if rng.random() < 0.7:
        places = body.places()
    target, chosen = pointers("%q", places), pick((chosen, body.mask()))
    more = (f", {chosen}", f", {mask}") if chosen else ("", "")
    body.lines.append(f"%u = store_ptr_tko weak {target}, %a{more[0]} token=%t : {kind}, {type}{more[1]} -> token")
    head = f"%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %n: tile<i32>, %z: tile<{element}>"
    return f"entry @k({head}) {{\n" + "\n".join(body.lines) + "\nreturn\n}\n", element


COMBINED = {
    "f": ("addf", "mulf", "maxf", "minf", "maxf flush_to_zero", "minf propagate_nan", "subf", "maxf propagate_nan"),
    "i": (
        "addi",
        "muli",
        "andi",
        "ori",
        "xori",
        "mini signed",
        "maxi unsigned",
        "maxi signed",
        "mini unsigned",
        "subi",
    ),
}


def reduction_kernels(element: str) -> Iterator[str]:
    """Yield kernels that reduce and scan elements of memory: by one operation, by several, and two arrays at once."""
    floating = element[0] != "i"
    zero, one = ("0.0", "1.0") if floating else ("0", "1")
    scalar = f"tile<{element}>"
    bodies = []
    for each in COMBINED["f" if floating else "i"]:
        name, _, flags = each.partition(" ")
        if (flags or name) == "flush_to_zero" and element != "f32":
            continue
        bodies.append((f"%s = {name} %l, %r{' ' * bool(flags)}{flags} : {scalar}", "%s"))
        bodies.append((f"%s = {name} %r, %l{' ' * bool(flags)}{flags} : {scalar}", "%s"))
    add, mul, top = ("addf", "mulf", "maxf") if floating else ("addi", "muli", "maxi")
    sign = "" if floating else " signed"
    bodies += [
        ("", "%l"),
        ("", "%r"),
        ("", "%z"),
        (f"%c = constant <{element}: {one}> : {scalar}", "%c"),
        (f"%s = {add} %l, %z : {scalar}\n%u = {add} %s, %r : {scalar}", "%u"),
        (f"%s = {mul} %l, %r : {scalar}\n%u = {add} %s, %l : {scalar}", "%u"),
        (f"%s = {add} %l, %r : {scalar}\n%u = {top} %s, %l{sign} : {scalar}", "%s"),
        (f"%s = {add} %l, %l : {scalar}", "%s"),
        (f"%s = {add} %l, %z : {scalar}", "%s"),
    ]
    for shape, dims in (("8x", 1), ("4x8x", 2), ("2x4x2x", 3)):
        for number, (text, yielded) in enumerate(bodies):
            lines, type = _loaded(element, shape), f"tile<{shape}{element}>"
            for dim in range(dims):
                sizes = shape[:-1].split("x")
                left = "".join(f"{size}x" for at, size in enumerate(sizes) if at != dim)
                body = f"(%l: {scalar}, %r: {scalar}) {{\n{text}\nyield {yielded} : {scalar}\n}}"
                start = f"identities=[{(zero, one)[number % 2]} : {element}]"
                for kind, out in (("reduce", left), ("scan", shape)):
                    way = f" reverse={('true', 'false')[(number + dim) % 2]}" if kind == "scan" else ""
                    value = f"%v{len(lines)}"
                    made = f"tile<{out}{element}>"
                    lines.append(f"{value} = {kind} %a dim={dim}{way} {start} : {type} -> {made}\n{body}")
                    lines.append(
                        f'%t{len(lines)} = print_tko "{"%f" if floating else "%i"}", {value} : {made} -> token'
                    )
            yield _kernel(element, lines)
        lines, type = _loaded(element, shape), f"tile<{shape}{element}>"
        compare = (
            f"cmpf greater_than ordered %l, %r : {scalar}" if floating else f"cmpi less_than %l, %r, signed : {scalar}"
        )
        body = (
            f"(%l: {scalar}, %r: {scalar}, %i: tile<i32>, %j: tile<i32>) {{\n%c = {compare} -> tile<i1>\n"
            f"%s = select %c, %l, %r : tile<i1>, {scalar}\n%k = select %c, %i, %j : tile<i1>, tile<i32>\n"
            f"yield %s, %k : {scalar}, tile<i32>\n}}"
        )
        out = shape[2:]
        lines.append(f"%n = constant <i32: 7> : tile<{shape}i32>")
        lines.append(
            f"%v:2 = reduce %a, %n dim=0 identities=[{zero} : {element}, 0 : i32] : {type}, tile<{shape}i32> -> "
            f"tile<{out}{element}>, tile<{out}i32>\n{body}"
        )
        shown = f"tile<{out}{element}>, tile<{out}i32> -> token"
        lines.append(f'%t9 = print_tko "{"%f" if floating else "%i"} %i", %v#0, %v#1 : {shown}')
        yield _kernel(element, lines)


def _loaded(element: str, shape: str) -> list[str]:
    """Return lines that load as many elements as a tile of a shape has; each tile block has its own."""
    count = 1
    for size in shape[:-1].split("x"):
        count *= int(size)
    kind = f"tile<{count}xptr<{element}>>"
    return [
        "%bx, %by, %bz = get_tile_block_id : tile<i32>",
        f"%count = constant <i32: {count}> : tile<i32>",
        "%first = muli %bx, %count : tile<i32>",
        f"%q = offset %p, %first : tile<ptr<{element}>>, tile<i32> -> tile<ptr<{element}>>",
        f"%p1 = reshape %q : tile<ptr<{element}>> -> tile<1xptr<{element}>>",
        f"%p2 = broadcast %p1 : tile<1xptr<{element}>> -> {kind}",
        f"%iota = iota : tile<{count}xi32>",
        f"%p3 = offset %p2, %iota : {kind}, tile<{count}xi32> -> {kind}",
        f"%a0, %t0 = load_ptr_tko weak %p3 : {kind} -> tile<{count}x{element}>, token",
        f"%a = reshape %a0 : tile<{count}x{element}> -> tile<{shape}{element}>",
    ]


def _kernel(element: str, lines: list[str]) -> str:
    return f"entry @k(%p: tile<ptr<{element}>>, %z: tile<{element}>) {{\n" + "\n".join(lines) + "\nreturn\n}\n"

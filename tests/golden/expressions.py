"""Random kernels of expressions whose constants are where rules and folds may go wrong."""

from __future__ import annotations

import random

OVERFLOWS = ("", "", " overflow<no_signed_wrap>", " overflow<no_unsigned_wrap>", " overflow<no_wrap>")
SIGNS = ("signed", "unsigned")
PREDICATES = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
WIDTHS = (8, 8, 16, 32, 32, 64)


def corner(bits: int, rng: random.Random) -> int:
    """Return a constant at an end of a range, a small number, a power of two, or its neighbour."""
    top = 1 << (bits - 1)
    power = 1 << rng.randrange(bits - 1)
    choices = (
        0,
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        -1,
        -2,
        -3,
        top - 1,
        -top,
        -top + 1,
        power,
        power - 1,
        -power,
        rng.randrange(-top, top),
    )
    value = rng.choice(choices)
    return value if -top <= value < top else top - 1


def bits_of(type: str) -> int:
    """Return the width of the integers of a tile."""
    return int(type.rpartition("i")[2][:-1])


class Writer:
    """Writes the operations of one kernel."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.values: dict[str, list[str]] = {}
        self.count = 0

    def put(self, text: str, type: str) -> str:
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        self.values.setdefault(type, []).append(name)
        return name

    def constant(self, type: str, value: int | None = None) -> str:
        bits = bits_of(type)
        if bits == 1:
            text = self.rng.choice(("true", "false"))
        else:
            text = str(corner(bits, self.rng) if value is None else value)
        return self.put(f"constant <i{bits}: {text}> : {type}", type)

    def any(self, type: str) -> str:
        """Return a value of a type: a recent one, mostly, or a new constant."""
        known = self.values.get(type, [])
        if not known or self.rng.random() < 0.25:
            return self.constant(type)
        return self.rng.choice(known[-6:] if self.rng.random() < 0.7 else known)

    def step(self, bits: int, shape: str) -> None:
        rng = self.rng
        pick = rng.choice
        type, mask = f"tile<{shape}i{bits}>", f"tile<{shape}i1>"
        sign = pick(SIGNS)
        match rng.randrange(15):
            case 0 | 1:
                name = pick(("addi", "subi", "muli", "shli"))
                self.put(f"{name} {self.any(type)}, {self.any(type)}{pick(OVERFLOWS)} : {type}", type)
            case 2:
                self.put(f"{pick(('andi', 'ori', 'xori'))} {self.any(type)}, {self.any(type)} : {type}", type)
            case 3:
                self.put(f"{pick(('mini', 'maxi', 'shri'))} {self.any(type)}, {self.any(type)} {sign} : {type}", type)
            case 4:
                divisor = self.constant(type, pick((1, 2, 3, 4, 5, 8, 16, 64, (1 << (bits - 1)) - 1)))
                rounding = pick(
                    ("", "", " rounding<positive_inf>", " rounding<negative_inf>"[: 0 if sign == "unsigned" else None])
                )
                name = pick(("divi", "remi"))
                self.put(
                    f"{name} {self.any(type)}, {divisor} {sign}{rounding if name == 'divi' else ''} : {type}", type
                )
            case 5 | 6 | 7:
                self.put(f"cmpi {pick(PREDICATES)} {self.any(type)}, {self.any(type)}, {sign} : {type} -> {mask}", mask)
            case 8:
                self.put(f"{pick(('andi', 'ori', 'xori'))} {self.any(mask)}, {self.any(mask)} : {mask}", mask)
            case 9:
                kind = pick((type, type, mask))
                self.put(f"select {self.any(mask)}, {self.any(kind)}, {self.any(kind)} : {mask}, {kind}", kind)
            case 10:
                other = pick([width for width in (8, 16, 32, 64) if width != bits])
                wide = f"tile<{shape}i{other}>"
                if other > bits:
                    self.put(f"exti {self.any(type)} {sign} : {type} -> {wide}", wide)
                else:
                    self.put(f"trunci {self.any(type)}{pick(OVERFLOWS)} : {type} -> {wide}", wide)
            case 11:
                one = pick(("absi", "negi", "exti"))
                if one == "exti":
                    self.put(f"exti {self.any(mask)} {sign} : {mask} -> {type}", type)
                else:
                    self.put(f"{one} {self.any(type)} : {type}", type)
            case 13 | 14:
                value, limit = self.any(type), corner(bits, rng)
                other = pick((limit, limit + 1, limit - 1, limit + 2, corner(bits, rng)))
                other = other if -(1 << (bits - 1)) <= other < 1 << (bits - 1) else limit
                one, two = self.constant(type, limit), pick((self.constant(type, other), self.any(type)))
                masks = [
                    self.put(f"cmpi {pick(PREDICATES)} {value}, {than}, {sign} : {type} -> {mask}", mask)
                    for than in (one, two)
                ]
                if rng.random() < 0.3:
                    masks.append(self.any(mask))
                joined = masks[0]
                for each in masks[1:]:
                    joined = self.put(f"{pick(('andi', 'andi', 'ori', 'xori'))} {joined}, {each} : {mask}", mask)
            case 12:
                low, high = sorted((corner(bits, rng), corner(bits, rng)))
                promise = pick(
                    (
                        f"#cuda_tile.div_by<{1 << rng.randrange(5)}>",
                        f"#cuda_tile.bounded<{low}, {high}>",
                        f"#cuda_tile.bounded<{max(low, 0)}, ?>",
                    )
                )
                self.put(f"assume {promise}, {self.any(type)} : {type}", type)


def expressions(rng: random.Random) -> str:
    """Return a kernel that stores the last values of a random sequence of operations on integers and masks."""
    w = Writer(rng)
    bits = rng.choice(WIDTHS)
    shape = rng.choice(("", "", "", "4x", "2x2x"))
    type = f"tile<{shape}i{bits}>"
    w.values[type] = ["%a", "%b", "%c"]
    scalar = f"tile<i{bits}>"
    head = f"%p: tile<ptr<i{bits}>>, %q: tile<ptr<i1>>, %a0: {scalar}, %b0: {scalar}, %c0: {scalar}, %f: tile<i1>"
    for _ in range(rng.choice((4, 8, 14))):
        w.step(bits, shape)
    if not shape and rng.random() < 0.5:
        branch(w, type, rng)
    lines = []
    for name in "abc":
        if shape:
            ones = "1x" * shape.count("x")
            lines.append(f"%{name}1 = reshape %{name}0 : tile<i{bits}> -> tile<{ones}i{bits}>")
            lines.append(f"%{name} = broadcast %{name}1 : tile<{ones}i{bits}> -> {type}")
    text = f"entry @k({head}) {{\n" + "\n".join([*lines, *w.lines]) + "\n"
    if not shape:
        text = text.replace("%a0", "%a").replace("%b0", "%b").replace("%c0", "%c")
    return text + stores(w, bits, shape) + "return\n}\n"


def stores(w: Writer, bits: int, shape: str) -> str:
    out = ""
    number = 0
    for element, base in ((f"i{bits}", "%p"), ("i1", "%q")):
        type = f"tile<{shape}{element}>"
        for value in w.values.get(type, [])[-4:]:
            there = base
            if shape:
                ones = "1x" * shape.count("x")
                out += f"%r{number} = reshape {base} : tile<ptr<{element}>> -> tile<{ones}ptr<{element}>>\n"
                there = f"%s{number}"
                out += f"{there} = broadcast %r{number} : tile<{ones}ptr<{element}>> -> tile<{shape}ptr<{element}>>\n"
            out += f"%t{number} = store_ptr_tko weak {there}, {value} : tile<{shape}ptr<{element}>>, {type} -> token\n"
            number += 1
    return out


def branch(w: Writer, type: str, rng: random.Random) -> None:
    """Add a branch or a loop around a few more operations."""
    bits = int(type[6:-1])
    outer = {key: list(names) for key, names in w.values.items()}
    condition = w.any("tile<i1>")
    lines = w.lines
    if rng.random() < 0.6:
        arms = []
        for _ in range(2):
            w.lines = []
            w.values = {key: list(names) for key, names in outer.items()}
            w.values.setdefault("tile<i1>", []).append(condition)
            for _ in range(rng.randrange(4)):
                w.step(bits, "")
            w.lines.append(f"yield {w.any(type)} : {type}")
            arms.append("\n".join(w.lines))
        w.lines, w.values = lines, outer
        w.put(f"if {condition} -> ({type}) {{\n{arms[0]}\n}} else {{\n{arms[1]}\n}}", type)
        return
    low, high, step = w.constant(type, 0), w.any(type), w.constant(type, rng.choice((1, 2, 3)))
    start = w.any(type)
    outer = {key: list(names) for key, names in w.values.items()}
    w.lines = []
    w.values.setdefault(type, []).extend(["%i", "%x"])
    for _ in range(rng.randrange(1, 5)):
        w.step(bits, "")
    w.lines.append(f"continue {w.any(type)} : {type}")
    body = "\n".join(w.lines)
    w.lines, w.values = lines, outer
    w.put(
        f"for %i in ({low} to {high}, step {step}) : {type} iter_values(%x = {start}) -> ({type}) {{\n{body}\n}}", type
    )


FLOATS = ("f16", "bf16", "f32", "f64")
VALUES = (
    "0.0",
    "-0.0",
    "1.0",
    "-1.0",
    "0.5",
    "2.0",
    "3.0",
    "1.5e3",
    "-7.25",
    "1.0e-5",
    "65504.0",
    "inf",
    "-inf",
    "nan",
)
ROUNDINGS = ("", " rounding<nearest_even>", " rounding<zero>", " rounding<negative_inf>", " rounding<positive_inf>")
HEX = {
    "f16": ("0x7C00", "0xFC00", "0x7E00", "0x0001", "0x7BFF"),
    "bf16": ("0x7F80", "0xFF80", "0x7FC0", "0x0001", "0x7F7F"),
    "f32": ("0x7F800000", "0xFF800000", "0x7FC00000", "0x00000001", "0x7F7FFFFF"),
    "f64": ("0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000", "0x1", "0x7FEFFFFFFFFFFFFF"),
}


def float_constants(rng: random.Random) -> str:
    """Return a kernel of operations on float constants."""
    element = rng.choice(FLOATS)
    type = f"tile<{element}>"
    lines = [f"%z = constant <{element}: 0.0> : {type}", "%n0 = constant <i32: 3> : tile<i32>"]
    values = ["%a", "%b", "%z"]
    results = []
    for number in range(10):
        if rng.random() < 0.5:
            value = rng.choice([v for v in VALUES if v[-1].isdigit()] + list(HEX[element]))
            lines.append(f"%c{number} = constant <{element}: {value}> : {type}")
            values.append(f"%c{number}")
        name = f"%r{number}"
        a, b, c = (rng.choice(values) for _ in range(3))
        rounding, flush = rng.choice(ROUNDINGS), rng.choice(("", " flush_to_zero")) if element == "f32" else ""
        match rng.randrange(7):
            case 0 | 1:
                lines.append(f"{name} = {rng.choice(('addf', 'subf', 'mulf'))} {a}, {b}{rounding}{flush} : {type}")
            case 2:
                limit, nan = rng.choice(("maxf", "minf")), rng.choice(("", " propagate_nan"))
                lines.append(f"{name} = {limit} {a}, {b}{flush}{nan} : {type}")
            case 3:
                lines.append(f"{name} = {rng.choice(('negf', 'absf', 'floor', 'ceil'))} {a} : {type}")
            case 4:
                lines.append(f"{name} = fma {a}, {b}, {c}{rounding}{flush} : {type}")
            case 5:
                predicate, order = rng.choice(PREDICATES), rng.choice(("ordered", "unordered"))
                lines.append(f"{name}m = cmpf {predicate} {order} {a}, {b} : {type} -> tile<i1>")
                lines.append(f"{name} = select {name}m, {a}, {c} : tile<i1>, {type}")
            case 6:
                lines.append(
                    f"{name} = pow {a}, {b} : {type}" if element in ("f32", "f64") else f"{name} = negf {a} : {type}"
                )
        values.append(name)
        results.append(name)
    stored = [
        f"%t{n} = store_ptr_tko weak %p, {v} : tile<ptr<{element}>>, {type} -> token" for n, v in enumerate(results)
    ]
    body = "\n".join([*lines, *stored])
    return f"entry @k(%p: tile<ptr<{element}>>, %a: {type}, %b: {type}) {{\n{body}\nreturn\n}}\n"


def pointer_kernel(rng: random.Random) -> str:
    """Return a kernel that copies through affine pointers, perhaps with masks: food for views instead of pointers."""
    pick = rng.choice
    rows, columns = pick((1, 2, 4, 8)), pick((1, 4, 8, 16))
    flat = rows == 1 and rng.random() < 0.7
    shape = f"{columns}x" if flat else f"{rows}x{columns}x"
    bits = pick((32, 32, 64))
    lines = ["%bx, %by, %bz = get_tile_block_id : tile<i32>"]

    def put(name: str, text: str) -> None:
        lines.append(f"%{name} = {text}")

    def spread(name: str, value: str, element: str) -> None:
        ones = "1x" if flat else "1x1x"
        put(f"{name}_1", f"reshape {value} : tile<{element}> -> tile<{ones}{element}>")
        put(name, f"broadcast %{name}_1 : tile<{ones}{element}> -> tile<{shape}{element}>")

    i = "i32"
    put("size", f"constant <i32: {pick((columns, columns, 1, 3, 2 * columns))}> : tile<i32>")
    put("first", "muli %bx, %size : tile<i32>")
    put("iota", f"iota : tile<{columns}xi32>")
    if flat:
        spread("first_all", "%first", i)
        put("column", f"addi {pick(('%first_all, %iota', '%iota, %first_all'))} : tile<{shape}i32>")
        put("at0", f"addi %column, {'%column' if rng.random() < 0.1 else '%zero_all'} : tile<{shape}i32>")
        put("row", f"addi %zero_all, %zero_all : tile<{shape}i32>")
    else:
        put("iota_c", f"reshape %iota : tile<{columns}xi32> -> tile<1x{columns}xi32>")
        put("columns", f"broadcast %iota_c : tile<1x{columns}xi32> -> tile<{shape}i32>")
        put("iota_r0", f"iota : tile<{rows}xi32>")
        put("iota_r", f"reshape %iota_r0 : tile<{rows}xi32> -> tile<{rows}x1xi32>")
        put("rows", f"broadcast %iota_r : tile<{rows}x1xi32> -> tile<{shape}i32>")
        spread("first_all", "%first", i)
        spread("by_all", "%by", i)
        put("column", f"addi %first_all, %columns : tile<{shape}i32>")
        put("row", f"{pick(('addi %by_all, %rows', 'addi %rows, %zero_all'))} : tile<{shape}i32>")
        spread("stride_all", pick(("%stride", "%stride", "%size")), i)
        put("scaled", f"muli {pick(('%row, %stride_all', '%stride_all, %row'))} : tile<{shape}i32>")
        put("at0", f"addi {pick(('%scaled, %column', '%column, %scaled'))} : tile<{shape}i32>")
    for name in "nm":
        limit = f"%{name}"
        if rng.random() < 0.3:
            put(f"{name}_0", f"{pick(('addi', 'subi', 'muli'))} %{name}, {pick(('%size', '%shift', '%n'))} : tile<i32>")
            limit = f"%{name}_0"
        spread(f"{name}_all", limit, i)
    if rng.random() < 0.3:
        spread("moved", "%shift", i)
        put("at", f"{pick(('addi', 'subi'))} %at0, %moved : tile<{shape}i32>")
    else:
        put("at", f"addi %at0, %zero_all : tile<{shape}i32>")
    masks = []
    for number in range(rng.randrange(3)):
        a, b = pick((("%column", "%n_all"), ("%row", "%m_all"), ("%column", "%m_all")))
        predicate = pick(
            ("less_than", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal", "not_equal")
        )
        a, b = (b, a) if predicate.startswith("greater") and rng.random() < 0.8 else (a, b)
        put(
            f"mask{number}",
            f"cmpi {predicate} {a}, {b}, {pick((*SIGNS, 'signed'))} : tile<{shape}i32> -> tile<{shape}i1>",
        )
        masks.append(f"%mask{number}")
    mask = ""
    if masks:
        mask = masks[0]
        for other in masks[1:]:
            put("both", f"{pick(('andi', 'andi', 'ori'))} {mask}, {other} : tile<{shape}i1>")
            mask = "%both"
    at, type = "%at", f"tile<{shape}{i}>"
    if bits == 64:
        put("wide", f"exti %at signed : tile<{shape}i32> -> tile<{shape}i64>")
        at, type = "%wide", f"tile<{shape}i64>"
    kind = f"tile<{shape}ptr<f32>>"
    spread("x_all", "%x", "ptr<f32>")
    spread("y_all", "%y", "ptr<f32>")
    put("from", f"offset %x_all, {at} : {kind}, {type} -> {kind}")
    put("to", f"offset %y_all, {at} : {kind}, {type} -> {kind}")
    put(
        "pad",
        f"constant <f32: {pick(('0.0', '0.5', '-0.0', '0xFF800000', '0x7FC00000', '0x7F800000'))}> : tile<{shape}f32>",
    )
    padded = bool(mask) and rng.random() < 0.7
    operands, types = "%from", kind
    if mask:
        operands, types = f"{operands}, {mask}", f"{types}, tile<{shape}i1>"
    if padded:
        operands, types = f"{operands}, %pad", f"{types}, tile<{shape}f32>"
    put("v, %t", f"load_ptr_tko weak {operands} : {types} -> tile<{shape}f32>, token")
    stored = f", {mask}" if mask and rng.random() < 0.8 else ""
    more = f", tile<{shape}i1>" if stored else ""
    put("u", f"store_ptr_tko weak %to, %v{stored} token = %t : {kind}, tile<{shape}f32>{more} -> token")
    spread_zero = ["%zero = constant <i32: 0> : tile<i32>"]
    ones = "1x" if flat else "1x1x"
    spread_zero.append(f"%zero_1 = reshape %zero : tile<i32> -> tile<{ones}i32>")
    spread_zero.append(f"%zero_all = broadcast %zero_1 : tile<{ones}i32> -> tile<{shape}i32>")
    head = "%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %stride: tile<i32>, %n: tile<i32>, %m: tile<i32>, %shift: tile<i32>"
    return f"entry @k({head}) {{\n" + "\n".join([*spread_zero, *lines]) + "\nreturn\n}\n"


def loop_kernel(rng: random.Random) -> str:
    """Return a kernel with a loop whose body branches on the counter: food for splitting loops, and for moving code."""
    pick = rng.choice
    bits = pick((8, 16, 32, 32, 64))
    type = f"tile<i{bits}>"
    unsigned = rng.random() < 0.25
    bound = pick(("%n", "%m", "%c0", "%c1", "%c2"))
    predicate = pick(PREDICATES)
    sign = pick(SIGNS) if rng.random() < 0.2 else "unsigned" if unsigned else "signed"
    sides = pick((f"%i, {bound}", f"%i, {bound}", f"{bound}, %i"))
    lines = [f"%c{n} = constant <i{bits}: {corner(bits, rng)}> : {type}" for n in range(3)]
    lines += [
        f"%low0 = constant <i{bits}: {pick((0, 0, 1, 2, -3))}> : {type}",
        f"%step = constant <i{bits}: {pick((1, 1, 1, 2, 3, 7))}> : {type}",
    ]
    low, step = pick(("%low0", "%low0", "%m")), pick(("%step", "%step", "%step", "%m"))
    body = [f"%a = addi %s, {pick(('%i', '%n', '%c0'))} : {type}"]
    outside = "%n2 = muli %n, %m : " + type
    body.append(outside if rng.random() < 0.5 else f"%n2 = muli %i, %m : {type}")
    branch = [f"%b = {pick(('addi', 'subi', 'muli'))} %a, %n2 : {type}", f"yield %b : {type}"]
    other = [f"%d = xori %a, {pick(('%c1', '%i', '%n2'))} : {type}", f"yield %d : {type}"]
    body.append(f"%cond = cmpi {predicate} {sides}, {sign} : {type} -> tile<i1>")
    body.append(f"%r = if %cond -> ({type}) {{\n" + "\n".join(branch) + "\n} else {\n" + "\n".join(other) + "\n}")
    if rng.random() < 0.4:
        body.append(f"if %cond {{\n%t = store_ptr_tko weak %p, %r : tile<ptr<i{bits}>>, {type} -> token\n}}")
    body.append(f"continue %r : {type}")
    loop = f"%res = for {'unsigned ' if unsigned else ''}%i in ({low} to %n, step {step}) : {type} "
    loop += f"iter_values(%s = %c0) -> ({type}) {{\n"
    text = "\n".join(
        [
            *lines,
            loop + "\n".join(body) + "\n}",
            f"%u = store_ptr_tko weak %p, %res : tile<ptr<i{bits}>>, {type} -> token",
        ]
    )
    return f"entry @k(%p: tile<ptr<i{bits}>>, %n: {type}, %m: {type}) {{\n{text}\nreturn\n}}\n"


INTEGERS = ("i8", "i16", "i32", "i64")
REDUCED = {"addi": "", "muli": "", "andi": "", "ori": "", "xori": "", "mini": " signed", "maxi": " unsigned"}


def element_kernel(rng: random.Random) -> tuple[str, str, str]:
    """Return a kernel that applies an operation to elements in memory, and the types of what it reads and writes.

    It reads 16 elements from each of two arrays, and writes 16 to a third.
    """
    pick = rng.choice
    a, n = pick((*INTEGERS, *FLOATS)), pick((16, 16, 16, 1, 8))
    shape = pick((f"{n}x", f"{n}x", "4x4x", "2x8x", "1x16x")) if n == 16 else f"{n}x"
    floating = a in FLOATS
    type, mask = f"tile<{shape}{a}>", f"tile<{shape}i1>"
    out, lines = a, []
    sign = pick(SIGNS)
    rounding = pick(ROUNDINGS)
    flush = pick(("", " flush_to_zero")) if a == "f32" else ""
    if floating:
        kind = rng.randrange(9)
        if kind < 2:
            lines = [f"%r = {pick(('addf', 'subf', 'mulf'))} %a, %b{rounding}{flush} : {type}"]
        elif kind == 2:
            lines = [f"%r = {pick(('maxf', 'minf'))} %a, %b{flush}{pick(('', ' propagate_nan'))} : {type}"]
        elif kind == 3:
            lines = [f"%r = {pick(('negf', 'absf', 'floor', 'ceil'))} %a : {type}"]
        elif kind == 4:
            order = pick(("ordered", "unordered"))
            lines = [f"%m = cmpf {pick(PREDICATES)} {order} %a, %b : {type} -> {mask}"]
            lines += [f"%r = select %m, %a, %b : {mask}, {type}"]
        elif kind == 5:
            lines = [f"%r = fma %a, %b, %a{rounding}{flush} : {type}"]
        elif kind == 6:
            out = pick(INTEGERS)
            lines = [f"%r = ftoi %a {sign} : {type} -> tile<{shape}{out}>"]
        elif kind == 7:
            out = pick([each for each in FLOATS if each != a])
            lines = [f"%r = ftof %a : {type} -> tile<{shape}{out}>"]
        else:
            small = pick(("f8E4M3FN", "f8E5M2", "tf32"))
            lines = [f"%s = ftof %a : {type} -> tile<{shape}{small}>", f"%r = ftof %s : tile<{shape}{small}> -> {type}"]
    else:
        kind = rng.randrange(12)
        bits = int(a[1:])
        if kind < 2:
            lines = [f"%r = {pick(('addi', 'subi', 'muli', 'andi', 'ori', 'xori'))} %a, %b : {type}"]
        elif kind == 2:
            lines = [f"%r = {pick(('mini', 'maxi'))} %a, %b {sign} : {type}"]
        elif kind == 3:
            lines = [f"%o = constant <{a}: {bits - 1}> : {type}", f"%s = andi %b, %o : {type}"]
            name = pick(("shli", "shri"))
            lines += [f"%r = {name} %a, %s{f' {sign}' if name == 'shri' else ''} : {type}"]
        elif kind == 4:
            # An odd divisor is not 0, and 3 is not -1.
            lines = [f"%o = constant <{a}: 3> : {type}", f"%d = ori %b, %o : {type}", f"%e = andi %d, %h : {type}"]
            lines.insert(0, f"%h = constant <{a}: {(1 << (bits - 1)) - 1}> : {type}")
            name = pick(("divi", "divi", "remi"))
            more = pick(("", " rounding<positive_inf>", " rounding<negative_inf>")) if sign == "signed" else ""
            lines += [f"%r = {name} %a, %e {sign}{more if name == 'divi' else ''} : {type}"]
        elif kind == 5:
            lines = [f"%m = cmpi {pick(PREDICATES)} %a, %b, {sign} : {type} -> {mask}"]
            lines += [f"%r = select %m, %a, %b : {mask}, {type}"]
        elif kind == 6:
            lines = [f"%r = {pick(('absi', 'negi'))} %a : {type}"]
        elif kind == 7:
            out = pick([each for each in INTEGERS if each != a])
            wider = int(out[1:]) > bits
            lines = [f"%r = {f'exti %a {sign}' if wider else 'trunci %a'} : {type} -> tile<{shape}{out}>"]
        elif kind == 8:
            out = pick(FLOATS)
            lines = [f"%r = itof %a {sign} : {type} -> tile<{shape}{out}>"]
        elif kind == 9:
            lines = [f"%r = mulhii %a, %b : {type}"]
        else:
            name = pick(list(REDUCED))
            dims = shape.count("x")
            dim = rng.randrange(dims)
            scalar = f"tile<{a}>"
            start = {"andi": -1, "muli": 1}.get(name, 0)
            joined = f"%z = {name} %p, %q{REDUCED[name]} : {scalar}\nyield %z : {scalar}"
            body = f"(%p: {scalar}, %q: {scalar}) {{\n{joined}\n}}"
            sizes = shape[:-1].split("x")
            if kind == 10:
                left = "".join(f"{size}x" for at, size in enumerate(sizes) if at != dim)
                ones = "".join(f"{1 if at == dim else size}x" for at, size in enumerate(sizes))
                lines = [f"%k = reduce %a dim={dim} identities=[{start} : {a}] : {type} -> tile<{left}{a}>\n{body}"]
                lines += [f"%l = reshape %k : tile<{left}{a}> -> tile<{ones}{a}>"]
                lines += [f"%r = broadcast %l : tile<{ones}{a}> -> {type}"]
            else:
                back = pick(("true", "false"))
                lines = [f"%r = scan %a dim={dim} reverse={back} identities=[{start} : {a}] : {type} -> {type}\n{body}"]
    count = 16 if n == 16 else n

    def places(name: str, element: str) -> str:
        flat = f"tile<{count}xptr<{element}>>"
        return (
            f"%{name}1 = reshape %{name}0 : tile<ptr<{element}>> -> tile<1xptr<{element}>>\n"
            f"%{name}2 = broadcast %{name}1 : tile<1xptr<{element}>> -> {flat}\n"
            f"%{name}3 = offset %{name}2, %iota : {flat}, tile<{count}xi32> -> {flat}\n"
        )

    def load(name: str, to: str) -> str:
        flat = f"tile<{count}x{a}>"
        return places(name, a) + (
            f"%{name}4, %{name}5 = load_ptr_tko weak %{name}3 : tile<{count}xptr<{a}>> -> {flat}, token\n"
            f"%{to} = reshape %{name}4 : {flat} -> {type}\n"
        )

    text = f"%iota = iota : tile<{count}xi32>\n" + load("x", "a") + load("y", "b") + "\n".join(lines) + "\n"
    text += f"%flat = reshape %r : tile<{shape}{out}> -> tile<{count}x{out}>\n" + places("w", out)
    text += f"%t = store_ptr_tko weak %w3, %flat : tile<{count}xptr<{out}>>, tile<{count}x{out}> -> token\n"
    head = f"%x0: tile<ptr<{a}>>, %y0: tile<ptr<{a}>>, %w0: tile<ptr<{out}>>"
    return f"entry @k({head}) {{\n{text}return\n}}\n", a, out


SPECIAL = {
    "f16": (0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0x3555, 0xC248),
    "f32": (0, 1 << 31, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001, 0x7FFFFF, 0x800000,
            0x7F7FFFFF, 0x3FC00000, 0x4B000001, 0x4F000000, 0xCF000000, 0x5F000000, 0x477FF000, 0x33800001),
    "f64": (0, 1 << 63, 0x3FF << 52, 0xBFF << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 1, 0x7FEFFFFFFFFFFFFF,
            0x3FF8 << 48, 0x43E << 52, 0xC3E << 52, 0x41EFFFFFFFE00000, 0x3690000000000001, 0x47EFFFFFF0000000),
}  # fmt: skip


def elements(element: str, count: int, rng: random.Random) -> bytes:
    """Return elements, most of them special ones."""
    bits = int(element.lstrip("bif"))
    if element == "bf16":
        found = [value >> 16 for value in SPECIAL["f32"]]
    elif element in SPECIAL:
        found = list(SPECIAL[element])
    else:
        found = [corner(bits, rng) & ((1 << bits) - 1) for _ in range(12)]
    numbers = (rng.choice(found) if rng.random() < 0.8 else rng.getrandbits(bits) for _ in range(count))
    return b"".join(number.to_bytes(bits // 8, "little") for number in numbers)


def assume_kernel(rng: random.Random) -> str:
    """Return a kernel of promises about promises, some of them used twice, or after something that has an effect."""
    pick = rng.choice
    shape = pick(("", "8x", "4x8x"))
    type = f"tile<{shape}i32>"
    ones = "1x" * shape.count("x")
    lines = [f"%o = reshape %n : tile<i32> -> tile<{ones}i32>", f"%v0 = broadcast %o : tile<{ones}i32> -> {type}"]
    used, last = [], "%v0"
    for number in range(rng.randrange(2, 7)):
        low, high = sorted((pick((0, 1, 3, 8, -4)), pick((0, 2, 8, 64, 1000))))
        bounded = pick((f"<{low}, {high}>", f"<{low}, ?>", f"<?, {high}>", "<?, ?>"))
        predicates = [f"bounded{bounded}", f"bounded{bounded}", f"div_by<{pick((1, 2, 8, 16))}>"]
        if shape:
            sizes = ", ".join(str(pick((1, 2, 4))) for _ in ones[::2])
            along = rng.randrange(shape.count("x"))
            predicates += [f"same_elements<[{sizes}]>", f"div_by<{pick((2, 8))}, every {pick((2, 4))} along {along}>"]
        last = f"%v{number + 1}"
        lines.append(f"{last} = assume #cuda_tile.{pick(predicates)}, %v{number} : {type}")
        if rng.random() < 0.2:
            used.append(last)
        match rng.randrange(8):
            case 0:
                lines.append(f'%e{number} = print_tko "here %i", %n : tile<i32> -> token')
            case 1:
                used.append(f"%x{number}")
                lines.append(f"%x{number} = addi %v{number}, {last} : {type}")
    lines.append(f"%k = constant <i32: {pick((1, 2, 8, 9, 64, 65, 1000))}> : {type}")
    lines.append(f"%rest = {pick(('remi', 'divi', 'mini', 'maxi'))} {last}, %k signed : {type}")
    lines.append(f"%less = cmpi {pick(PREDICATES)} {last}, %k, {pick(SIGNS)} : {type} -> tile<{shape}i1>")
    lines.append(f"%sum = select %less, {last}, %rest : tile<{shape}i1>, {type}")
    used += ["%rest", "%sum"]
    lines += [f'%p{at} = print_tko "%i", {value} : {type} -> token' for at, value in enumerate((*used, last))]
    return "entry @k(%n: tile<i32>) {\n" + "\n".join(lines) + "\nreturn\n}\n"


STORED = ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "f8E4M3FN", "f4E2M1FN", "f4E2M1FN")
PADDINGS = ("", "", "padding_value = zero, ", "padding_value = nan, ", "padding_value = neg_inf, ")


def view_kernel(rng: random.Random) -> tuple[str, str]:
    """Return a kernel that copies a tile from one view to another, and the type of an element.

    Its parameters are two pointers and four numbers, which are sizes, strides and positions.
    """
    pick = rng.choice
    element = pick(STORED)
    rank = pick((1, 2, 2, 3))
    tile = [*(pick((1, 2, 4, 8)) for _ in range(rank - 1)), pick((2, 2, 4, 8))]
    shape = "x".join(map(str, tile))
    numbers = [pick((0, 0, 1, 1, 2, 3, 5, -1)) for _ in range(3)]
    lines = [f"%k{at} = constant <i32: {number}> : tile<i32>" for at, number in enumerate(numbers)]
    lines.append("%bx, %by, %bz = get_tile_block_id : tile<i32>")
    padding = pick(PADDINGS) if element[0] in "bf" else pick(PADDINGS[:3])

    def view(name: str, base: str, padding: str) -> tuple[str, str]:
        """Write a view and a list of its indices; return its type, and the types of the indices."""
        sizes = [pick((size, size * 2, size * 3 - 1, 7)) for size in tile]
        step = 1
        strides: list[int] = []
        for size in reversed(sizes):
            strides.insert(0, step)
            step *= pick((size, size, size, size + 2))
        if rng.random() < 0.2:
            rng.shuffle(strides)
        given = [pick(("%n", "%m")) if rng.random() < 0.25 else size for size in sizes]
        along = [pick(("%n", "%s")) if rng.random() < 0.2 else stride for stride in strides]
        asked = ["?" if isinstance(each, str) else str(each) for each in given]
        steps = ["?" if isinstance(each, str) else str(each) for each in along]
        tensor = f"tensor_view<{'x'.join(asked)}x{element}, strides=[{','.join(steps)}]>"
        dynamic = " : tile<i32>" if "?" in asked + steps else " :"
        lines.append(
            f"%{name}t = make_tensor_view {base}, shape = [{', '.join(map(str, given))}], "
            f"strides = [{', '.join(map(str, along))}]{f'{dynamic} ->' if '?' in asked + steps else dynamic} {tensor}"
        )
        dims = rng.sample(range(rank), rank)
        swapped = f", dim_map=[{', '.join(map(str, dims))}]" if rng.random() < 0.3 else ""
        kinds = ["tile<i32>"] * rank
        match pick(("partition", "partition", "strided", "gather_scatter")):
            case "partition":
                type, word = f"partition_view<tile=({shape}), {padding}{tensor}{swapped}>", "partition"
            case "strided":
                moves = ",".join(str(pick((1, 2, 3, size, size))) for size in tile)
                type = f"strided_view<tile=({shape}), traversal_strides=[{moves}], {padding}{tensor}{swapped}>"
                word = "strided"
            case _:
                sparse = rng.randrange(rank)
                type = f"gather_scatter_view<tile=({shape}), {padding}{tensor}, sparse_dim={sparse}>"
                word = "gather_scatter"
                kinds[sparse] = f"tile<{tile[sparse]}xi32>"
        lines.append(f"%{name} = make_{word}_view %{name}t : {type}")
        indices = []
        for dim, kind in enumerate(kinds):
            if kind == "tile<i32>":
                indices.append(pick(("%bx", "%by", "%k0", "%k1", "%k2")))
                continue
            size = tile[dim]
            positions, way = f"%{name}p", pick(("addi", "addi", "muli", "xori"))
            lines.append(f"%{name}i = iota : {kind}")
            lines.append(f"%{name}1 = reshape {pick(('%bx', '%k0', '%s'))} : tile<i32> -> tile<1xi32>")
            lines.append(f"%{name}2 = broadcast %{name}1 : tile<1xi32> -> {kind}")
            lines.append(f"{positions} = {way} %{name}i, %{name}2 : tile<{size}xi32>")
            indices.append(positions)
        return f"%{name}[{', '.join(indices)}]", f"{type}, {', '.join(kinds)}"

    where, types = view("v", "%x", padding)
    lines.append(f"%a, %t = load_view_tko weak {where} : {types} -> tile<{shape}x{element}>, token")
    to, types = view("w", "%y", "")
    lines.append(f"%u = store_view_tko weak %a, {to} token = %t : tile<{shape}x{element}>, {types} -> token")
    head = ", ".join([f"%{name}: tile<ptr<{element}>>" for name in "xy"] + [f"%{name}: tile<i32>" for name in "nmsr"])
    return f"entry @k({head}) {{\n" + "\n".join(lines) + "\nreturn\n}\n", element


NARROW = ("i1", "i8", "i8", "i16", "i32", "i64")
SMALL_FLOATS = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "f4E2M1FN")


def constant_kernel(rng: random.Random) -> str:
    """Return a kernel that prints what an operation makes of two tiles of constants."""
    pick = rng.choice
    a = pick(NARROW) if rng.random() < 0.7 else pick((*FLOATS, *SMALL_FLOATS))
    shape = pick(("8x", "8x", "2x4x", "4x2x1x"))
    type, mask = f"tile<{shape}{a}>", f"tile<{shape}i1>"
    sign = pick(SIGNS)
    bits = 8 if a[:2] == "f8" else 4 if a[:2] == "f4" else int(a.lstrip("bif"))
    size = max(bits, 8) // 8

    def constant(name: str, special: bool) -> str:
        values = []
        for _ in range(8):
            value = pick((0, 0, 1, -1, 1 << bits - 1, (1 << bits - 1) - 1)) if special else rng.getrandbits(bits)
            if a[0] in "bf" and value < 0:
                value = 1
            values.append(value & (1 << bits) - 1)
        if a == "i1":
            listed = [pick(("true", "false")) for _ in range(8)]
        elif a[0] == "i":
            listed = [str(value - (value >> bits - 1 << bits)) for value in values]
        else:
            listed = [f"0x{value:0{2 * size}X}" for value in values]
        for dim in reversed(shape[:-1].split("x")[1:]):
            n = int(dim)
            listed = [f"[{', '.join(listed[at : at + n])}]" for at in range(0, len(listed), n)]
        return f"%{name} = constant <{a}: [{', '.join(listed)}]> : {type}"

    lines = [constant("a", rng.random() < 0.4), constant("b", rng.random() < 0.4)]
    flat = f"tile<8x{a}>"
    common = [
        (f"tile<8x2x{a}>", f"cat %f, %g dim = 1 : tile<8x1x{a}>, tile<8x1x{a}> -> tile<8x2x{a}>"),
        (type, f"select %m, %a, %b : {mask}, {type}"),
        (f"tile<4x2x{a}>", f"permute %h [1, 0] : tile<2x4x{a}> -> tile<4x2x{a}>"),
        (f"tile<2x{a}>", f"extract %e[%n] : {flat} -> tile<2x{a}>"),
    ]
    if a[0] == "i":
        wide = [each for each in NARROW if int(each[1:]) > bits]
        slim = [each for each in NARROW if int(each[1:]) < bits]
        rounding = pick(("", " rounding<positive_inf>", " rounding<negative_inf>")) if sign == "signed" else ""
        common += [
            (type, f"{pick(('addi', 'subi', 'muli', 'andi', 'ori', 'xori', 'shli', 'mulhii'))} %a, %b : {type}"),
            (type, f"{pick(('mini', 'maxi', 'shri', 'remi'))} %a, %b {sign} : {type}"),
            (type, f"divi %a, %b {sign}{rounding} : {type}"),
            (type, f"{pick(('absi', 'negi'))} %a : {type}"),
            (mask, f"cmpi {pick(PREDICATES)} %a, %b, {sign} : {type} -> {mask}"),
            *((f"tile<{shape}{e}>", f"exti %a {sign} : {type} -> tile<{shape}{e}>") for e in wide[:2]),
            *((f"tile<{shape}{e}>", f"trunci %a : {type} -> tile<{shape}{e}>") for e in slim[:2]),
            (f"tile<{shape}f32>", f"itof %a {sign} : {type} -> tile<{shape}f32>"),
        ]
        if bits == 8:
            common += [
                ("tile<16xf4E2M1FN>", f"unpack %e : {flat} -> tile<16xf4E2M1FN>"),
                (f"tile<{shape}f8E4M3FN>", f"bitcast %a : {type} -> tile<{shape}f8E4M3FN>"),
            ]
    else:
        to = pick(("i1", "i8", "i32", "i64"))
        other = pick([each for each in (*FLOATS, *SMALL_FLOATS) if each != a])
        common.append((f"tile<{shape}{other}>", f"ftof %a : {type} -> tile<{shape}{other}>"))
        if a in FLOATS:
            common += [
                (f"tile<{shape}{to}>", f"ftoi %a {sign} : {type} -> tile<{shape}{to}>"),
                (type, f"{pick(('addf', 'mulf', 'divf', 'maxf', 'minf', 'remf'))} %a, %b : {type}"),
                (mask, f"cmpf {pick(PREDICATES)} {pick(('ordered', 'unordered'))} %a, %b : {type} -> {mask}"),
            ]
        if bits == 4:
            common += [("tile<4xi8>", f"pack %e : {flat} -> tile<4xi8>")] * 3
    out, text = pick(common)
    lines += [
        f"%m = constant <i1: [{', '.join(pick(('true', 'false')) for _ in range(8))}]> : tile<8xi1>"
        if shape == "8x"
        else f"%m = constant <i1: {pick(('true', 'false'))}> : {mask}",
        f"%e = reshape %a : {type} -> {flat}",
        f"%f = reshape %a : {type} -> tile<8x1x{a}>",
        f"%g = reshape %b : {type} -> tile<8x1x{a}>",
        f"%h = reshape %b : {type} -> tile<2x4x{a}>",
        f"%n = constant <i32: {rng.randrange(4)}> : tile<i32>",
        f"%r = {text}",
        f'%t = print_tko "{"%f" if "f" in out.rpartition("x")[2] else "%i"}", %r : {out} -> token',
    ]
    return "entry @k() {\n" + "\n".join(lines) + "\nreturn\n}\n"

"""The reference engine: what launches leave, print and count, and what observers see of them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np

import tilery
from golden.accesses import access_kernel, reduction_kernels
from golden.expressions import FLOATS, INTEGERS, element_kernel, elements, expressions, view_kernel
from golden.launches import block_alone, exact, launched, module_of, observed
from golden.material import rng_of, stored
from golden.shown import error
from golden.systematic import NARROW_FLOATS, Form, float_forms, integer_forms, kernel_of, odd_rows
from golden.table import group
from tilery.diag import TileError
from tilery.engines.common.tiles import carrier
from tilery.ir import walk
from tilery.text.parse.parser import parse
from tilery.types import SCALARS
from tilery.verifier.verify import verify

PARTS = 4


def described(row: dict[str, Any], number: int) -> Iterator[str]:
    """Run a launch in several ways; they must leave the same memory."""
    m = module_of(row)
    said, contents = launched(row, m)
    one, alone = launched(row, m, batch=1)
    three, some = launched(row, m, batch=3)
    if not row.get("racy"):
        legal = [each for each in (contents, alone, some) if each]
        assert all(each == legal[0] for each in legal), "the size of a batch changes what a launch leaves"
    if number % 5 == 0 and m.entry(row["entry"]).blocks:
        threads, together = launched(row, m, batch=1, threads=2)
        assert row.get("racy") or not (alone and together) or (alone == together and one == threads), "threads"
    certain = exact(m) and contents == alone == some
    digests = [blake2b(content, digest_size=6).hexdigest() for content in contents] if certain else [len(contents)]
    yield f"{said}\n{one}\n{three}\n{digests}"
    if number % 2 == 0:
        options = ({}, {"batch": 1})[number // 2 % 2]
        yield observed(row, m, tokens=number % 4 == 0, **({"blocks": [0]} if options else {}))
    if number % 3 == 0:
        yield launched(row, m, sanitize="all")[0]
    if number % 3 == 1:
        yield block_alone(row, m)


@group("engine/recorded", PARTS)
def recorded(part: int) -> Iterator[str]:
    """Launches of other tests."""
    for number, row in enumerate(islice(stored()["launches"], part, None, PARTS)):
        yield from described(row, number)


@group("engine/observed")
def on_observed() -> Iterator[str]:
    """Launches of which observers see some operations, tile blocks and values."""
    rows = [row for row in stored()["launches"] if row["text"].count("\n") > 8]
    for number, row in enumerate(rows[::4]):
        rng = rng_of("observed", number)
        m = tilery.parse(row["text"], file="a/k.mlir")
        ops = list(walk(m.entry(row["entry"])))
        o = rng.choice(ops)
        line = rng.randrange(2, row["text"].count("\n") + 1)
        filters: list[dict[str, Any]] = [
            {"ops": [o.name]},
            {"ops": [rng.choice(("addj", "entry", "global", "constant", "yield", "for"))]},
            {"lines": [line, f"k.mlir:{line + 1}", f"./a/k.mlir:{line + 2}", f"b/k.mlir:{line + 3}", "k.mlir:x"]},
            {"values": [*o.results, *o.operands][:2]},
            {"blocks": rng.sample([0, 1, (1,), (0, 1), (1, 0, 0), (5, 0, 0)], 2), "ops": [o.name, "store_ptr_tko"]},
            {"when": lambda *values: any(isinstance(each, np.ndarray) and each.ndim > 1 for each in values)},
        ]
        for each in rng.sample(filters, 3):
            yield observed(row, m, tokens=number % 2 == 0, **each)


@group("engine/expressions", 2)
def on_expressions(part: int) -> Iterator[str]:
    for number in range(60):
        rng = rng_of("run", part, number)
        text = expressions(rng)
        m = parse(text)
        size = 64
        row = {
            "text": text,
            "entry": "k",
            "grid": 1,
            "regions": [{"seed": number, "size": size}, {"seed": number, "size": 1, "mask": True}],
            "args": [
                {"region": 0, "start": 0, "length": 8, "item": _item(m)},
                {"region": 1, "start": 0, "length": 1, "item": 1},
                *(rng.randrange(-128, 128) for _ in range(3)),
                number % 2,
            ],
        }
        yield from described(row, number)


@group("engine/views", 2)
def on_views(part: int) -> Iterator[str]:
    """Copies from one view to another of each kind, inside of tensors, across their ends and outside of memory."""
    for number in range(110):
        rng = rng_of("view", part, number)
        text, element = view_kernel(rng)
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        item = max(SCALARS[element].bits // 8, 1)
        args = [{"region": at, "start": 64, "length": 600, "item": item} for at in range(2)]
        row = {
            "text": text,
            "entry": "k",
            "grid": (rng.choice((1, 2, 5)), rng.choice((1, 1, 3)), 1),
            "regions": [{"seed": number, "size": 700 * item}] * 2,
            "args": [*args, *(rng.choice((0, 1, 3, 7, 8, 16)) for _ in range(4))],
            "racy": True,
        }
        yield from described(row, number)


@group("engine/elements", 2)
def on_elements(part: int) -> Iterator[str]:
    """One operation on special elements of each type."""
    for number in range(200):
        rng = rng_of("elements", part, number)
        text, given, out = element_kernel(rng)
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        sizes = {name: int(name.lstrip("bif")) // 8 for name in (given, out)}
        regions = [b64encode(elements(given, 16, rng)).decode() for _ in range(2)]
        regions.append(b64encode(bytes(16 * sizes[out])).decode())
        args = [
            {"region": at, "start": 0, "length": 16, "item": sizes[name]} for at, name in enumerate((given, given, out))
        ]
        row = {"text": text, "entry": "k", "grid": 1, "regions": regions, "args": args}
        said, contents = launched(row, m)
        yield f"{said} {contents[2].hex() if contents else ''}"


BODIES = ("addi", "muli", "andi", "ori", "xori", "mini", "maxi", "mini", "maxi", "subi")
"""Operations of bodies; the second `mini` and `maxi` are unsigned."""


@group("engine/bodies")
def on_bodies() -> Iterator[str]:
    """Reductions and scans by one operation, of integers of each width, along each dimension and in both directions."""
    for element in ("i1", "i8", "i16", "i32", "i64"):
        rng = rng_of("bodies", element)
        type, bits = f"tile<4x8x{element}>", int(element[1:])
        top = 1 << bits - 1

        def number(value: int, bits: int = bits) -> str:
            return ("false", "true")[value & 1] if bits == 1 else str(value)

        rows = [[number(rng.randrange(-top, top)) for _ in range(8)] for _ in range(4)]
        tile = ", ".join(f"[{', '.join(row)}]" for row in rows)
        for dim, left in enumerate(("8x", "4x")):
            lines = [f"%a = constant <{element}: [{tile}]> : {type}"]
            for at, name in enumerate(BODIES):
                sign = f" {'un' * (at > 6)}signed" if name in ("mini", "maxi") else ""
                body = f"(%l: tile<{element}>, %r: tile<{element}>) {{ %s = {name} %l, %r{sign} : tile<{element}>"
                body += f" yield %s : tile<{element}> }}"
                identity = number(rng.choice((0, 1, -1, -top))) + f" : {element}" * (bits > 1)
                identities = f"identities=[{identity}]"
                kinds = (
                    ("reduce", "", f"tile<{left}{element}>"),
                    ("scan", " reverse=false", type),
                    ("scan", " reverse=true", type),
                )
                for kind, direction, out in kinds:
                    value = f"%v{len(lines)}"
                    lines.append(f"{value} = {kind} %a dim={dim}{direction} {identities} : {type} -> {out} {body}")
                    lines.append(f'print_tko "%d", {value} : {out} -> token')
            text = "entry @k() {\n" + "\n".join(lines) + "\nreturn\n}\n"
            m = parse(text)
            assert not verify(m), verify(m)[0].message
            yield launched({"text": text, "entry": "k", "grid": 1, "regions": [], "args": []}, m)[0]


@group("engine/nested")
def on_nested() -> Iterator[str]:
    """Bodies of reductions that nest, up to the deepest that are executed, and deeper."""
    for depth in (1, 2, 31, 32, 33, 34):
        text = "%s = addi %l0, %r0 : tile<i32> yield %s : tile<i32>"
        for at in range(depth):
            made = f"%x{at} = constant <i32: [{at}, 7]> : tile<2xi32> %y{at} = reduce %x{at} dim=0 "
            made += (
                f"identities=[0 : i32] : tile<2xi32> -> tile<i32> (%l{at}: tile<i32>, %r{at}: tile<i32>) {{ {text} }}"
            )
            text = f"{made} yield %y{at} : tile<i32>"
        text = f'entry @k() {{ {made} print_tko "%d", %y{depth - 1} : tile<i32> -> token return }}'
        yield launched({"text": text, "entry": "k", "grid": 1, "regions": [], "args": []}, parse(text))[0]


@group("engine/contended")
def on_contended() -> Iterator[str]:
    """Atomic operations of many lanes on few elements."""
    for number in range(24):
        rng = rng_of("contended", number)
        lanes, few = rng.choice((64, 128, 256)), rng.choice((1, 2, 4, 32))
        type, pointers, ordering = f"tile<{lanes}xi32>", f"tile<{lanes}xptr<i32>>", "relaxed device"
        mode = rng.choice(("add", "and", "or", "xor", "max", "umin", "xchg"))
        atomic = (
            f"atomic_cas_tko {ordering} %to, %at, %i : {pointers}, {type}",
            f"atomic_cas_tko {ordering} %to, %i, %next : {pointers}, {type}",
            f"atomic_rmw_tko {ordering} %to, {mode}, %i : {pointers}, {type}",
        )[number % 3]
        text = f"""entry @k(%p: tile<ptr<i32>>) {{
          %i = iota : {type}
          %few = constant <i32: {few}> : {type}
          %one = constant <i32: 1> : {type}
          %next = addi %i, %one : {type}
          %at = remi %i, %few signed : {type}
          %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
          %pn = broadcast %p1 : tile<1xptr<i32>> -> {pointers}
          %to = offset %pn, %at : {pointers}, {type} -> {pointers}
          %old, %t = {atomic} -> {type}, token
          print_tko "%d", %old : {type} -> token
          return
        }}
        """
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        args = [{"region": 0, "start": 0, "length": 32, "item": 4}]
        regions = [b64encode(bytes(128)).decode()]
        row = {"text": text, "entry": "k", "grid": 2, "regions": regions, "args": args, "racy": True}
        said, contents = launched(row, m, batch=1)
        yield f"{said} {contents[0].hex() if contents else ''}"


def _item(m: Any) -> int:
    bits: int = m.entries[0].body.args[0].type.element.pointee.bits
    return bits // 8


@group("engine/odd", 4)
def on_odd_values(part: int) -> Iterator[str]:
    """Every operation on elements in every form, on all pairs of values of each type where something may go wrong."""
    for element in ("i1", *INTEGERS, *FLOATS, *NARROW_FLOATS):
        kinds = integer_forms(element) if element[0] == "i" else float_forms(element)
        for number, forms in enumerate(kinds):
            if number % 4 == part:
                yield from on_pairs(element, forms)


def on_pairs(element: str, forms: list[Form]) -> Iterator[str]:
    """Describe what the legal forms of an operation make of all pairs of odd values, and why others are refused."""
    legal: list[Form] = []
    said = []
    for form in forms:
        try:
            wrong = verify(parse(kernel_of(element, [form]).text))
        except TileError as e:
            said.append(error(e))
            continue
        said += [each.message for each in wrong]
        if not wrong:
            legal.append(form)
    yield "\n".join(said)
    for at in range(0, len(legal), 8):
        kernel = kernel_of(element, legal[at : at + 8])
        size = size_of(element)
        given = (b"".join(row[each].to_bytes(size, "little") for row in odd_rows(element)) for each in range(3))
        regions = [b64encode(data).decode() for data in given]
        regions += [b64encode(bytes(256 * size_of(out))).decode() for out in kernel.outs]
        items = [*[size] * 3, *map(size_of, kernel.outs)]
        args = [{"region": number, "start": 0, "length": 256, "item": item} for number, item in enumerate(items)]
        m = parse(kernel.text)
        said_then, contents = launched(
            {"text": kernel.text, "entry": "k", "grid": 1, "regions": regions, "args": args}, m
        )
        yield said_then + (" ".join(content.hex() for content in contents) if exact(m) else "")


def size_of(element: str) -> int:
    """Return the bytes of an element in memory."""
    return carrier(SCALARS[element]).itemsize


@group("engine/accesses", 3)
def on_accesses(part: int) -> Iterator[str]:
    """Copies through pointers: rows, scattered elements, repeated ones; masks and padding that differ by tile block."""
    for number in range(130):
        rng = rng_of("accesses", part, number)
        text, element = access_kernel(rng)
        m = parse(text)
        assert not verify(m), verify(m)[0].message
        item = size_of(element)
        where = [{"region": at, "start": 400, "length": 400, "item": item} for at in range(2)]
        region = {"seed": number, "size": 1100 * item, **({"mask": True} if element == "i1" else {})}
        scalar: float = 1.25 if element[0] in "fb" else number % 2
        row = {
            "text": text,
            "entry": "k",
            "grid": (rng.choice((1, 2, 3, 5)), 1, 1),
            "regions": [region, region],
            "args": [*where, rng.choice((0, 1, 2, 5, 16)), scalar],
            "racy": True,
        }
        yield from described(row, number)


@group("engine/reductions", 2)
def on_reductions(part: int) -> Iterator[str]:
    """Reductions and scans of odd values by one operation, by several and by none, in tile blocks that run together."""
    for element in (*INTEGERS, *FLOATS)[part::2]:
        size = size_of(element)
        content = b64encode(b"".join(row[0].to_bytes(size, "little") for row in odd_rows(element)[::5])).decode()
        for text in reduction_kernels(element):
            m = parse(text)
            if wrong := verify(m):
                yield wrong[0].message
                continue
            args = [{"region": 0, "start": 0, "length": 48, "item": size}, 2.5 if element in FLOATS else 3]
            grid = 3 if "tile<8xptr" in text else 1
            row = {"text": text, "entry": "k", "grid": grid, "regions": [content], "args": args}
            said = launched(row, m, batch=(64, 1)[size % 4 // 2])[0]
            yield said if exact(m) else said.partition("\n")[0]


ENDING = (5, 7, 8)
"""The bodies that wait for a count."""


@group("engine/polls")
def on_polls() -> Iterator[str]:
    """Loops that wait for ever, or until a count: the error names the access that decides."""
    a = "%a, %ta = load_ptr_tko relaxed device %p token=%before : tile<ptr<i32>> -> tile<i32>, token"
    rmw = "= atomic_rmw_tko relaxed device"
    b = f"%b, %tb {rmw} %q, or, %zero token=%before : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    add = f"%a, %ta {rmw} %p, add, %one token=%before : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"

    def ends(value: str, predicate: str = "equal", inner: str = "break") -> str:
        test = f"%x{value} = cmpi {predicate} %{value}, %two, signed : tile<i32> -> tile<i1>"
        return f"{test}\nif %x{value} {{ {inner} }}"

    bodies = [
        [a, ends("a")],
        [b, a, ends("a")],
        [a, b, ends("b")],
        [a, b, "%m = addi %a, %b : tile<i32>", ends("m")],
        [b, a, ends("a", inner="if %c { break }")],
        [add, ends("a", "greater_than")],
        [b, ends("two", "not_equal"), '%t = print_tko "%i", %b : tile<i32> -> token'],
        [b, ends("n", "greater_than")],
        [b, "%k = addi %n, %b : tile<i32>", ends("k", "greater_than")],
        [ends("two", "not_equal")],
        [a, "%o = if %c -> (tile<i32>) { yield %a : tile<i32> } else { yield %zero : tile<i32> }", b, ends("o")],
    ]
    for number, body in enumerate(bodies):
        for blocks in (1, 3):
            step = "%next = addi %n, %one : tile<i32>" if number in ENDING else "%next = addi %n, %zero : tile<i32>"
            lines = "\n".join([*body, step, "continue %before, %next : token, tile<i32>"])
            text = f"""entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %c: tile<i1>) {{
              %zero = constant <i32: 0> : tile<i32> %one = constant <i32: 1> : tile<i32>
              %two = constant <i32: 2> : tile<i32>
              %start = make_token : token
              loop iter_values(%before = %start, %n = %zero) : token, tile<i32> {{
                {lines}
              }}
              return
            }}
            """
            m = parse(text)
            assert not verify(m), verify(m)[0].message
            for flag in (0, 1):
                args = [{"region": at, "start": 0, "length": 4, "item": 4} for at in range(2)]
                regions = [b64encode(bytes(16)).decode()] * 2
                row = {
                    "text": text,
                    "entry": "k",
                    "grid": blocks,
                    "regions": regions,
                    "args": [*args, flag],
                    "racy": True,
                }
                for batch in (1, 64):
                    said, contents = launched(row, m, batch=batch)
                    yield f"{number} {said} {[content.hex() for content in contents]}"


FAR = (0, 1, 2, -1, (1 << 31) - 1, 1 << 31, (1 << 58) - 1, 1 << 58, (1 << 58) + 1, (1 << 61) - 1, 1 << 61,
       (1 << 61) + 1, 1 << 62, (1 << 63) - 1, -(1 << 63), 1 - (1 << 61))  # fmt: skip


@group("engine/far")
def on_far_indices() -> Iterator[str]:
    """Tiles of tensors whose sizes, strides and indices are at the ends of what numbers hold."""
    for tile, word in (("8", "partition"), ("2x4", "partition"), ("8", "strided"), ("4", "gather_scatter")):
        rank, wide = tile.count("x") + 1, "i64"
        sizes, ones = ",".join("?" * rank), ", ".join(["%n"] * rank)
        tensor = f"tensor_view<{'x'.join('?' * rank)}xf32, strides=[{sizes}]>"
        more = {"strided": "traversal_strides=[8], ", "gather_scatter": ""}.get(word, "")
        sparse = ", sparse_dim=0" if word == "gather_scatter" else ""
        view = f"{word}_view<tile=({tile}), {more}{tensor}{sparse}>"
        kind = f"tile<4x{wide}>" if sparse else f"tile<{wide}>"
        spread = (
            f"%i1 = reshape %i : tile<{wide}> -> tile<1x{wide}> %at = broadcast %i1 : tile<1x{wide}> -> {kind}"
            if sparse
            else f"%z = constant <{wide}: 0> : tile<{wide}> %at = addi %i, %z : tile<{wide}>"
        )
        index = ", ".join(["%at"] * rank)
        for promise in ("", f" inbounds = [{', '.join(['true'] * rank)}]"):
            text = f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i64>, %s: tile<i64>, %i: tile<i64>) {{
              %v = make_tensor_view %p, shape = [{ones}], strides = [{", ".join(["%s"] * rank)}] : tile<i64> -> {tensor}
              %w = make_{word}_view %v : {view}
              {spread}
              %a, %t = load_view_tko weak %w[{index}]{promise} : {view}, {kind} -> tile<{tile}xf32>, token
              %u = store_view_tko weak %a, %w[{index}]{promise} : tile<{tile}xf32>, {view}, {kind} -> token
              return
            }}
            """
            try:
                m = parse(text)
            except TileError as e:
                yield error(e)
                continue
            if wrong := verify(m):
                yield wrong[0].message
                continue
            for number, at in enumerate(FAR):
                for size in (16, FAR[number * 5 % len(FAR)], (1 << 63) - 1):
                    where = {"region": 0, "start": 0, "length": 64, "item": 4}
                    args = [where, size, (1, 1, 1 << 59, -1)[number % 4], at]
                    row = {
                        "text": text,
                        "entry": "k",
                        "grid": 1,
                        "regions": [{"seed": 3, "size": 256}],
                        "args": args,
                        "racy": True,
                    }
                    said, contents = launched(row, m)
                    yield said + (contents[0].hex() if contents else "")
    for element in ("i8", "i16", "f32", "f64"):
        text = f"""entry @k(%p: tile<ptr<{element}>>, %i: tile<i64>) {{
          %o = constant <i64: 1> : tile<i64>
          %b = subi %o, %i : tile<i64>
          %q = offset %p, %i : tile<ptr<{element}>>, tile<i64> -> tile<ptr<{element}>>
          %r = offset %q, %b : tile<ptr<{element}>>, tile<i64> -> tile<ptr<{element}>>
          %a, %t = load_ptr_tko weak %r : tile<ptr<{element}>> -> tile<{element}>, token
          %u = store_ptr_tko weak %p, %a : tile<ptr<{element}>>, tile<{element}> -> token
          return
        }}
        """
        m = parse(text)
        for at in FAR:
            where = {"region": 0, "start": 0, "length": 16, "item": size_of(element)}
            row = {"text": text, "entry": "k", "grid": 1, "regions": [{"seed": 3, "size": 256}], "args": [where, at]}
            said, contents = launched(row, m)
            yield said + (contents[0].hex() if contents else "")

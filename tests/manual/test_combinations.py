"""Statements of the reference about shapes, types and custom syntax, against the verifier and the parser."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest

import tilery
from tilery import Value
from tilery.cli.main import main
from tilery.declare.operation import BY_NAME, OpDef
from tilery.declare.relations import Table
from tilery.ops import MmaF, MmaFScaled, MmaI, registered
from tilery.text.format import split
from tilery.types import F32, I8, I32, SCALARS, Scalar, Tile

SIZES = {"B": 2, "M": 4, "K": 32, "N": 8, "S": 1}
PRODUCTS = {"mmaf": MmaF, "mmaf_scaled": MmaFScaled, "mmai": MmaI}


def table(name: str, title: str) -> Table:
    return next(t for t in BY_NAME[name].tables if t.title == title)


def legal(name: str, shapes: Mapping[str, tuple[int, ...]], elements: Mapping[str, Scalar]) -> bool:
    """Whether a product of these shapes and elements is legal, by the verifier."""
    opdef = BY_NAME[name]
    values = {f.attr: Value(Tile(shapes[f.attr], elements[f.attr])) for f in opdef.operands}
    signs = {f.attr: "signed" for f in opdef.attrs if f.enum is not None}
    result = Value(Tile(shapes["result"], elements["result"]))
    made = PRODUCTS[name](**values, **signs, result=result)
    params = list(values.values())
    body = tilery.Block(params, [made, tilery.ops.Return()])
    types = tilery.types.Function([v.type for v in params])
    entry = tilery.ops.Entry(sym_name="k", function_type=types, body=body)
    module = tilery.Module(body=tilery.Block([], [entry]))
    return not any(finding.op is made for finding in tilery.verify(module))


def of_fields(columns: tuple[str, ...], row: tuple[str, ...]) -> dict[str, str]:
    return {field: text for column, text in zip(columns, row, strict=True) for field in column.split(", ")}


def shape(text: str) -> tuple[int, ...]:
    return tuple(SIZES[letter] for letter in text.split(" x "))


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        ("mmaf", {"lhs": F32, "rhs": F32, "acc": F32, "result": F32}),
        ("mmai", {"lhs": I8, "rhs": I8, "acc": I32, "result": I32}),
        (
            "mmaf_scaled",
            {
                **dict.fromkeys(("lhs", "rhs"), SCALARS["f8E5M2"]),
                **dict.fromkeys(("lhs_scale", "rhs_scale"), SCALARS["f8E8M0FNU"]),
                **dict.fromkeys(("acc", "result"), F32),
            },
        ),
    ],
)
def test_the_shapes_are_those_that_are_legal(name: str, elements: dict[str, Scalar]) -> None:
    listed = table(name, "shapes")
    rows = [{f: shape(text) for f, text in of_fields(listed.columns, row).items()} for row in listed.rows]
    assert all(legal(name, row, elements) for row in rows)
    for row, field in product(rows, rows[0]):
        for other in {s for r in rows for s in r.values()} - {row[field]}:
            assert not legal(name, {**row, field: other}, elements)


def test_the_elements_of_mmaf_are_those_that_are_legal() -> None:
    shapes = {"lhs": (4, 32), "rhs": (32, 8), "acc": (4, 8), "result": (4, 8)}
    pairs = {(i, a) for i, accs in table("mmaf", "element types").rows for a in accs.split(" or ")}
    for i, a in product(SCALARS.values(), repeat=2):
        elements = {"lhs": i, "rhs": i, "acc": a, "result": a}
        assert legal("mmaf", shapes, elements) == ((i.name, a.name) in pairs)


def test_the_elements_of_mmaf_scaled_are_those_that_are_legal() -> None:
    rows = table("mmaf_scaled", "element types").rows
    listed = {(scale, i, int(block)) for scale, i, blocks in rows for block in blocks.split(" or ")}
    for scale, i, block in product(SCALARS.values(), SCALARS.values(), (8, 16, 32, 64)):
        shapes = {"lhs": (4, 64), "rhs": (64, 8), "acc": (4, 8), "result": (4, 8)}
        shapes |= {"lhs_scale": (4, 64 // block), "rhs_scale": (64 // block, 8)}
        elements = {"lhs": i, "rhs": i, "acc": F32, "result": F32, "lhs_scale": scale, "rhs_scale": scale}
        assert legal("mmaf_scaled", shapes, elements) == ((scale.name, i.name, block) in listed)


def test_ops_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "mmaf"]) == 0
    out = capsys.readouterr().out
    assert "  f8E5M2    f16 or f32\n" in out
    assert "  M x K      K x N      M x N\n" in out


# ---------------------------------------------------------------- custom syntax

WORDS = {
    **{f"${name}": "%n" for name in ("lowerBound", "upperBound", "step", "initValues", "dynamicShape")},
    **{f"type(${name})": "tile<i32>" for name in ("lowerBound", "initValues", "resultValues", "dynamicShape")},
    "$sym_name": "@inner", "$producer": '"me"', "$base": "%p", "$dynamicStrides": "1", "attr-dict": "",
    "$optimization_hints": "<sm_100 = {occupancy = 2}>", "type($function_type)": "tile<i32>", "$unsignedCmp": "",
    "%counter": "%i", "%value": "%v", "%parameter": "%q", "type($result)": "tensor_view<?xf32, strides=[1]>",
}  # fmt: skip
BODIES = {"for": "continue %v : tile<i32>", "loop": "break %n : tile<i32>", "testing$func": "return %q : tile<i32>"}


def expand(tokens: list[str]) -> list[list[str]]:
    """Every text that a syntax describes: each group with and without its content, each alternative."""
    texts: list[list[str]] = [[]]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token != "(":
            texts = [[*text, token] for text in texts]
            at += 1
            continue
        depth, end, cuts = 1, at, [at]
        while depth:
            end += 1
            depth += {"(": 1, ")": -1, ")?": -1}.get(tokens[end], 0)
            if depth == 1 and tokens[end] == "|":
                cuts.append(end)
        parts = [tokens[a + 1 : b] for a, b in zip(cuts, [*cuts[1:], end])]
        inner: list[list[str]] = [[]] + [text for part in parts for text in expand(part)]
        texts = [[*text, *more] for text in texts for more in inner]
        at = end + 1
    return texts


def spell(opdef: OpDef, tokens: list[str]) -> str:
    """The text of an operation, from the tokens of its syntax."""
    words: list[str] = []
    for token in (token.rstrip("^") for token in tokens):
        if token == "...":
            words.pop()  # the comma before the next of a list
        elif token.startswith("blocks("):
            carried = opdef.mnemonic == "for" and "%v" not in words
            left = opdef.mnemonic == "loop" and words[-1:] != ["tile<i32>"]
            body = "" if carried else "break" if left else BODIES.get(opdef.mnemonic, "")
            words.append("{ " + body + " }")
        else:
            words.append(token[1:-1] if token[0] == "`" else WORDS[token])
    return f"{opdef.mnemonic} {' '.join(words)}"


CUSTOM = [d for d in registered(testing=True) if d.format == "custom"]


@pytest.mark.parametrize("opdef", CUSTOM, ids=lambda d: d.mnemonic)
def test_the_syntax_of_custom_formats_parses(opdef: OpDef) -> None:
    for tokens in expand(list(split(opdef.syntax))):
        text = spell(opdef, tokens)
        if opdef.mnemonic in ("for", "loop", "make_tensor_view"):
            results = ", ".join(
                f"%r{i}" for i in range(text.count("-> (") or text.count("-> tile") or text.count("loop : "))
            )
            results = "%view" if opdef.mnemonic == "make_tensor_view" else results
            text = f"entry @k(%n: tile<i32>, %p: tile<ptr<f32>>) {{ {results and results + ' = '}{text} return }}"
            text = text.replace("[ %n ]", "[ 4 ]").replace("?xf32", "4xf32") if "->" not in text else text
        elif opdef.mnemonic == "module":
            text = "cuda_tile." + text
        module = tilery.parse(text, testing=True, verify=False)
        assert any(o.name == opdef.mnemonic for o in tilery.walk(module)), text

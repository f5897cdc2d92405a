"""Claims of the document on operations that hold: signatures, traits, rules, and the forms of its examples."""

from __future__ import annotations

import pytest

import tilery
from tilery import TileError
from tilery.declare.constraints import TokenType
from tilery.declare.fields import AttrKind
from tilery.declare.relations import (
    CONSTANT,
    ELEMENTWISE,
    FUNCTION,
    ISOLATED,
    NO_REGION_ARGS,
    PURE,
    REGION_EFFECTS,
    SYMBOL,
    SYMBOL_TABLE,
)
from tilery.ops import registered
from tilery.types import F32, SCALARS, Ptr, Tile
from tilery.version import V13_1, V13_3

OPS = {d.mnemonic: d for d in registered()}
INTEGERS = "i1 i8 i16 i32 i64"
FLOATS = "f16 bf16 f32 f64"
NUMBERS = f"{INTEGERS} {FLOATS} tf32 f8E4M3FN f8E5M2"
ANY = f"{NUMBERS} ptr"
# Parameters in order, then results; `=` names the elements that a tile may have.
SIGNATURES = {
    "broadcast": (f"source={ANY}", f"result={ANY}"),
    "cat": (f"lhs={ANY}|rhs={ANY}|dim", f"result={ANY}"),
    "cmpf": (f"comparison_predicate|comparison_ordering|lhs={FLOATS}|rhs={FLOATS}", "result=i1"),
    "cmpi": (f"comparison_predicate|lhs={INTEGERS}|rhs={INTEGERS}|signedness", "result=i1"),
    "constant": ("value", f"result={NUMBERS}"),
    "entry": ("sym_name|function_type|arg_attrs|res_attrs|optimization_hints", ""),
    "extract": (f"source={ANY}|indices=i32", f"result={ANY}"),
    "get_global": ("name", "result=ptr"),
    "get_num_tile_blocks": ("", "gridSize_x=i32|gridSize_y=i32|gridSize_z=i32"),
    "get_tile_block_id": ("", "blockId_x=i32|blockId_y=i32|blockId_z=i32"),
    "global": ("sym_name|value|alignment", ""),
    "iota": ("", f"result={INTEGERS}"),
    "mmaf": (
        f"lhs={FLOATS} tf32 f8E4M3FN f8E5M2|rhs={FLOATS} tf32 f8E4M3FN f8E5M2|acc=f16 f32 f64",
        "result=f16 f32 f64",
    ),
    "mmai": ("lhs=i8|rhs=i8|acc=i32|signedness_lhs|signedness_rhs", "result=i32"),
    "module": ("sym_name", ""),
    "offset": (f"ptr=ptr|offset={INTEGERS}", "result=ptr"),
    "pack": (f"source={NUMBERS}", "result=i8"),
    "permute": (f"source={ANY}|permutation", f"result={ANY}"),
    "reduce": (f"operands={ANY}|dim|identities", f"results={ANY}"),
    "reshape": (f"source={ANY}", f"result={ANY}"),
    "scan": (f"operands={ANY}|dim|reverse|identities", f"results={ANY}"),
    "select": (f"cond=i1|val_if_true={ANY}|val_if_false={ANY}", f"result={ANY}"),
    "unpack": ("source=i8", f"result={NUMBERS}"),
    "bitcast": (f"source={NUMBERS}", f"result={NUMBERS}"),
    "exti": (f"from={INTEGERS}|signedness", f"to={INTEGERS}"),
}
PURE_OPS = [*SIGNATURES]
for name in ("entry", "global", "module", "reduce", "scan"):
    PURE_OPS.remove(name)
HEAD = """global @val <f32: [0.5, 1.5]> : tile<2xf32>
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
%v = iota : tile<8xi32>
%m = constant <f32: 0.0> : tile<4x8xf32>
"""
TAIL = "\nreturn\n}"


def verdict(body: str, head: str = HEAD, tail: str = TAIL) -> str:
    """Return the error of a body, without the operation's name; empty when it is legal."""
    try:
        tilery.parse(head + body + tail)
    except TileError as error:
        return error.message.partition(" op ")[2] or error.message
    return ""


def elements(f: tilery.decl.Field) -> set[str]:
    """The elements of version 13.1 that tiles of a field may have, in any of the usual shapes."""
    kinds = {s.name: s for s in SCALARS.values() if s.since == V13_1} | {"ptr": Ptr(F32)}
    shapes = [(), (8,), (8, 8)]
    return {name for name, element in kinds.items() if any(f.kind.ok(Tile(shape, element)) for shape in shapes)}


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_and_results(name: str) -> None:
    """The same names in the same order, with the same elements."""
    opdef = OPS[name]
    for listed, roles in zip(SIGNATURES[name], (("operand", "attr"), ("out",))):
        wanted = [part.partition("=") for part in listed.split("|") if part]
        fields = [f for f in opdef.fields if f.role in roles and f.since == opdef.since]
        assert [f.name for f in fields] == [part[0] for part in wanted]
        for f, (_, _, allowed) in zip(fields, wanted):
            if allowed:
                assert elements(f) == set(allowed.split())


def test_versions() -> None:
    newer = {name: OPS[name].since for name in SIGNATURES if OPS[name].since != V13_1}
    assert newer == {"pack": V13_3, "unpack": V13_3}


def test_pure_operations() -> None:
    """Without effects on memory, and free to be executed speculatively."""
    assert [name for name in PURE_OPS if not OPS[name].has(PURE)] == []


def test_other_traits() -> None:
    assert OPS["offset"].has(ELEMENTWISE)
    assert OPS["constant"].has(CONSTANT) and not OPS["constant"].operands
    assert all(OPS[name].has(REGION_EFFECTS) for name in ("reduce", "scan"))
    assert OPS["entry"].has(ISOLATED) and OPS["entry"].has(SYMBOL) and len(OPS["entry"].regions) == 1
    assert OPS["global"].has(SYMBOL)
    module = OPS["module"]
    assert all(map(module.has, (ISOLATED, SYMBOL_TABLE, NO_REGION_ARGS))) and not module.implicit
    assert {name for name in SIGNATURES if OPS[name].format == "custom"} == {"entry", "module"}


@pytest.mark.parametrize(
    "line",
    [
        "%r = cmpf equal ordered %x, %x : tile<f32> -> tile<i1>",
        "%r = cmpi equal %n, %n, signed : tile<i32> -> tile<i1>",
        "%r = constant <i32: 7> : tile<4xi32>",
        "%r = mmaf %m, %f, %g : tile<4x8xf32>, tile<8x2xf32>, tile<4x2xf32>",
        "%r = mmai %h, %i, %j signed signed : tile<4x8xi8>, tile<8x2xi8>, tile<4x2xi32>",
        "%r = offset %p, %n : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>",
        "%r = select %c, %n, %n : tile<i1>, tile<i32>",
        "%x0, %y0, %z0 = get_num_tile_blocks : tile<i32>",
        "%x0, %y0, %z0 = get_tile_block_id : tile<i32>",
    ],
)
def test_types_of_results_follow_from_the_operands(line: str) -> None:
    """With any other type of the first result the module is refused."""
    factors = {"f": ("8x2", "f32"), "g": ("4x2", "f32"), "h": ("4x8", "i8"), "i": ("8x2", "i8"), "j": ("4x2", "i32")}
    made = [f"%{v} = constant <{t}: {'0.0' if 'f' in t else '0'}> : tile<{s}x{t}>\n" for v, (s, t) in factors.items()]
    module = tilery.parse(HEAD + "".join(made) + line + TAIL)
    result = module.entries[0].body.ops[-2].results[0]
    right = result.type
    kinds = [SCALARS["f64"], SCALARS["i1"], SCALARS["i8"], SCALARS["i32"], F32, Ptr(F32), Ptr(SCALARS["f16"])]
    for other in (Tile(shape, kind) for shape in ((), (2,), (4, 2)) for kind in kinds):
        if other is not right:
            result.type = other
            assert tilery.verify(module), other


# ---------------------------------------------------------------- meta types and design


def test_symbols_begin_with_an_at_sign() -> None:
    assert "expected valid '@'-identifier" in verdict("", "entry k() {\n")


def test_flags_are_words_that_are_there_or_not() -> None:
    assert verdict("%r = exp2 %x flush_to_zero : tile<f32>") == verdict("%r = exp2 %x : tile<f32>") == ""


def test_kinds_of_static_arguments() -> None:
    """Every meta type of the document has a kind of field here."""
    fields = [f for d in registered() for f in d.fields]
    kinds = {f.kind for f in fields if f.role == "attr"}
    for kind in ("FLAG", "SYM_NAME", "SYM_REF", "TYPE", "ARRAY", "STR", "BOOL", "DENSE"):
        assert AttrKind[kind] in kinds
    assert any(f.arity == "var" for f in fields) and any(f.kind is TokenType for f in fields)


def test_nothing_is_broadcast_implicitly() -> None:
    assert "requires the same shape for all operands and results" in verdict(
        "%r = offset %p, %v : tile<ptr<f32>>, tile<8xi32> -> tile<ptr<f32>>"
    )
    assert verdict("%r = addi %n, %v : tile<8xi32>")


def test_floats_and_integers_have_operations_of_their_own() -> None:
    assert OPS["addf"].field("rounding_mode") and "rounding_mode" not in {f.name for f in OPS["addi"].fields}
    assert OPS["addi"].field("overflow") and "overflow" not in {f.name for f in OPS["addf"].fields}


def test_overflow_is_annotated() -> None:
    for word in ("none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"):
        assert verdict(f"%r = addi %n, %n overflow<{word}> : tile<i32>") == ""


# ---------------------------------------------------------------- rules

PREDICATES = ["equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparisons(predicate: str) -> None:
    for ordering in ("ordered", "unordered"):
        assert verdict(f"%0 = cmpf {predicate} {ordering} %x, %x : tile<f32> -> tile<i1>") == ""
    for sign in ("signed", "unsigned"):
        assert verdict(f"%0 = cmpi {predicate} %n, %n, {sign} : tile<i32> -> tile<i1>") == ""


PRODUCTS = {
    "f8E4M3FN": {"f16", "f32"}, "f8E5M2": {"f16", "f32"}, "f16": {"f16", "f32"}, "bf16": {"f32"}, "tf32": {"f32"},
    "f32": {"f32"}, "f64": {"f64"},
}  # fmt: skip


@pytest.mark.parametrize("given", PRODUCTS)
def test_products_of_floats(given: str) -> None:
    def product(acc: str) -> str:
        return verdict(
            f"%a = constant <{given}: 0.0> : tile<4x8x{given}>\n%b = constant <{given}: 0.0> : tile<8x2x{given}>\n"
            f"%d = constant <{acc}: 0.0> : tile<4x2x{acc}>\n"
            f"%0 = mmaf %a, %b, %d : tile<4x8x{given}>, tile<8x2x{given}>, tile<4x2x{acc}>"
        )

    assert {acc for acc in ("f16", "f32", "f64", "bf16") if not product(acc)} == PRODUCTS[given]


@pytest.mark.parametrize(
    ("shapes", "legal"),
    [("4x8 8x2 4x2", True), ("2x4x8 2x8x2 2x4x2", True), ("4x8 4x2 4x2", False), ("4x8 8x2 4x4", False),
     ("2x4x8 1x8x2 2x4x2", False), ("8 8 8", False), ("2x4x8 8x2 2x4x2", False)],
)  # fmt: skip
@pytest.mark.parametrize("name", ["mmaf", "mmai"])
def test_shapes_of_products(name: str, shapes: str, legal: bool) -> None:
    kinds = ["f16", "f16", "f32"] if name == "mmaf" else ["i8", "i8", "i32"]
    tiles = [f"tile<{shape}x{kind}>" for shape, kind in zip(shapes.split(), kinds)]
    zeros = ["0.0" if name == "mmaf" else "0"] * 3
    lines = [
        f"%a{n} = constant <{kind}: {zero}> : {tile}" for n, (kind, zero, tile) in enumerate(zip(kinds, zeros, tiles))
    ]
    signs = "" if name == "mmaf" else "signed unsigned "
    lines.append(f"%0 = {name} %a0, %a1, %a2 {signs}: {', '.join(tiles)}")
    assert (verdict("\n".join(lines)) == "") == legal


@pytest.mark.parametrize("signs", ["signed signed", "signed unsigned", "unsigned signed", "unsigned unsigned"])
def test_signs_of_integer_products(signs: str) -> None:
    body = """%a = cuda_tile.constant <i8: 0> : tile<4x8xi8>
%b = cuda_tile.constant <i8: 0> : tile<8x2xi8>
%d = cuda_tile.constant <i32: 0> : tile<4x2xi32>
"""
    assert verdict(body + f"%0 = mmai %a, %b, %d {signs} : tile<4x8xi8>, tile<8x2xi8>, tile<4x2xi32>") == ""


@pytest.mark.parametrize(
    ("line", "given", "made"),
    [
        ("bitcast {}", "i32", "f32"),
        ("exti {} signed", "i32", "i64"),
        ("trunci {}", "i32", "i8"),
        ("ftoi {} signed", "f32", "i32"),
        ("itof {} signed", "i32", "f32"),
        ("ftof {}", "f32", "f16"),
        ("ptr_to_int {}", "ptr<f32>", "i64"),
        ("int_to_ptr {}", "i64", "ptr<f32>"),
    ],
)
def test_conversions(line: str, given: str, made: str) -> None:
    """Each converts what it is for, and nothing else."""
    head = f"entry @k(%a: tile<{given}>) {{\n"
    assert verdict(f"%r = {line.format('%a')} : tile<{given}> -> tile<{made}>", head) == ""
    wrong = "ptr<f32>" if "ptr" not in made else "f32"
    assert verdict(f"%r = {line.format('%a')} : tile<{given}> -> tile<{wrong}>", head)


# ---------------------------------------------------------------- modules, entries, globals


def test_an_entry_has_no_results() -> None:
    text = "entry @k() -> tile<i32> { %0 = constant <i32: 0> : tile<i32>\nreturn %0 : tile<i32> }"
    assert verdict("", text, "") == "entry op must not return values"


def test_names_are_unique_in_a_module() -> None:
    assert "redefinition of symbol named 'k'" in verdict("", "global @k <i8: [1, 2]> : tile<2xi8>\nentry @k() {", "}")


def test_an_entry_sees_nothing_outside() -> None:
    text = "%0 = constant <i32: 0> : tile<i32>\nentry @k() { %1 = negi %0 : tile<i32>\nreturn }"
    assert verdict("", text, "") == "using value defined outside the region"


def test_hints_of_an_entry() -> None:
    text = "entry @k() optimization_hints=<sm_100 = {num_cta_in_cga = 8}, sm_120 = {num_cta_in_cga = 16}> {"
    assert verdict("", text, "}") == ""


def test_globals_have_one_dimension() -> None:
    assert verdict("", "global @g <i8: 1> : tile<2x2xi8>\nentry @k() {", "}") == "type must have rank 1"
    assert verdict("", "global @g alignment = 128 <f32: [0.5, 1.5]> : tile<2xf32>\nentry @k() {", "}") == ""


def test_globals_stand_in_the_module() -> None:
    assert verdict("global @inner <i8: [1, 2]> : tile<2xi8>") == "symbol's parent must have the SymbolTable trait"


def test_entries_are_the_only_functions() -> None:
    assert {d.mnemonic for d in registered() if d.has(FUNCTION)} == {"entry"}


def test_packing_is_not_element_by_element() -> None:
    assert not OPS["pack"].has(ELEMENTWISE) and not OPS["unpack"].has(ELEMENTWISE) and OPS["select"].has(ELEMENTWISE)


def test_an_empty_entry_returns() -> None:
    assert verdict("", "entry @k() {", "}") == ""
    assert verdict("", "entry @k() { %x, %y, %z = get_num_tile_blocks : tile<i32>\n", "}") == ""


def test_a_module_holds_items_of_the_dialect() -> None:
    assert verdict("", "cuda_tile.module @m { }", "") == ""
    assert verdict("", "cuda_tile.module @m { arith.addi %0, %0 : i32 }", "")


def test_views_came_later() -> None:
    assert {d.mnemonic for d in registered() if d.mnemonic.endswith("_view") and d.since == V13_1} == {
        "make_partition_view", "make_tensor_view"
    }  # fmt: skip

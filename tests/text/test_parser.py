"""Text to modules: what is understood, and that parsing undoes printing. Errors are in `tests/cases/parse`."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest

from support import oracle
from support.broken import mutate_text
from tilery.attrs import CallSite, DictAttr, DILoc, FileLineCol, FusedLoc, IntAttr, NameLoc, OpaqueAttr, StrAttr
from tilery.bytecode.writer import write
from tilery.declare.operation import OpDef
from tilery.diag import TileError
from tilery.ir import UnknownOp, difference, walk
from tilery.ops import (
    AddF,
    AddI,
    Constant,
    Entry,
    For,
    Global,
    If,
    Iota,
    LoadPtrTko,
    Module,
    Reduce,
    Return,
    Yield,
    registered,
)
from tilery.text.lexer import PIECE
from tilery.text.parse.parser import parse, parse_with_spans
from tilery.text.print.printer import show
from tilery.types import F32, I1, I32, I64, Foreign, Tile

OPS = registered(testing=True)
HEAD = "entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {\n"
STANDALONE = ("entry", "global", "cuda_tile.module", "testing$func")


def whole(opdef: OpDef) -> str:
    """An operation's example as a text of its own."""
    text = textwrap.dedent(opdef.example).strip()
    return text if text.split()[0] in STANDALONE else f"{HEAD}{textwrap.indent(text, '  ')}\n}}"


def body(text: str) -> str:
    return f"{HEAD}  {text}\n}}"


# ---------------------------------------------------------------- laws of every operation


@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_example_parses_and_contains_the_op(opdef: OpDef) -> None:
    module = parse(whole(opdef), testing=True)
    assert any(isinstance(o, opdef.cls) for o in walk(module))
    assert module.version is None and module.layout is None


@pytest.mark.parametrize("style", ["disasm", "opt", "generic"])
@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_parse_undoes_show(opdef: OpDef, style: str) -> None:
    module = parse(whole(opdef), testing=True)
    text = show(module, style=style)
    again = parse(text, testing=True)
    assert show(again, style=style) == text
    if style != "disasm":  # which does not print the name of the module
        assert difference(module, again) is None


@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_blanks_and_comments_do_not_matter(opdef: OpDef) -> None:
    """Every token, even inside types, on a line of its own with a comment behind it."""
    text = show(parse(whole(opdef), testing=True), style="opt")
    spread = ' // a comment with "quotes" and {\n'.join(PIECE.findall(text))
    assert show(parse(spread, testing=True), style="opt") == text


@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_cut_anywhere_is_refused_with_a_place(opdef: OpDef) -> None:
    text = whole(opdef)
    for end in range(1, len(text.rstrip("}\n "))):
        try:
            parse(text[:end], testing=True)
        except TileError as error:
            assert error.source is not None and 0 <= error.start <= end
            assert error.render()


@pytest.mark.parametrize("opdef", OPS, ids=lambda d: d.mnemonic)
def test_mutations_raise_nothing_but_tile_errors(opdef: OpDef) -> None:
    rng = random.Random(opdef.mnemonic)
    for _ in range(200):
        mutant = mutate_text(whole(opdef), rng)
        try:
            parse(mutant, testing=True, allow_unregistered=rng.random() < 0.5)
        except TileError as error:
            assert error.render()


# ---------------------------------------------------------------- what is understood


def test_items_need_no_module() -> None:
    module = parse("global @g <i32: [1, 2]> : tile<2xi32>\nentry @k() {\n}")
    assert module.sym_name == "kernels"
    assert (module.globals[0].sym_name, module.entries[0].sym_name) == ("g", "k")
    assert isinstance(module.entries[0].body.ops[-1], Return)


def test_a_module_in_mlirs_module_is_taken_out() -> None:
    module = parse('module attributes {a} { cuda_tile.module @m attributes {producer = "p"} { entry @k() {} } }')
    assert (module.sym_name, module.producer) == ("m", "p")


def test_places_know_every_op() -> None:
    text = "cuda_tile.module @m {\n  entry @k() {\n    %0 = iota : tile<8xi32>\n  }\n}"
    parsed = parse_with_spans(text)
    assert parsed.wrapped
    starts = {o.name: text[slice(*parsed.spans[o])] for o in walk(parsed.module)}
    assert starts == {"module": "cuda_tile.module", "entry": "entry", "iota": "iota", "return": "entry"}


def test_aliases_of_types_attributes_and_locations() -> None:
    module = parse(
        """
        !t = !cuda_tile.tile<8xi32>
        #file = loc("a.py":1:2)
        entry @k() {
          %0 = iota {x = #later.y} : !t loc(#end)
          return loc(callsite("f"("g.py":3:4) at #file))
        } loc(fused<"why">[#file, "b.py":5:6])
        #end = loc("end.py":7:8)
        """,
        allow_unregistered=True,
    )
    entry = module.entries[0]
    iota, last = entry.body.ops
    assert iota.results[0].type is Tile((8,), I32)
    assert iota.loc is FileLineCol("end.py", 7, 8)
    assert iota.extra == {"x": OpaqueAttr("#later.y")}
    assert last.loc is CallSite(NameLoc("f", FileLineCol("g.py", 3, 4)), FileLineCol("a.py", 1, 2))
    places = (FileLineCol("a.py", 1, 2), FileLineCol("b.py", 5, 6))
    assert entry.loc is FusedLoc(places, StrAttr("why"))


def test_debug_information() -> None:
    module = parse("""
        #f = #cuda_tile.di_file<"a.py" in "/src">
        #u = #cuda_tile.di_compile_unit<file = #f>
        #s = #cuda_tile.di_subprogram<file = #f, line = 1, name = "k", linkageName = "k", compileUnit = #u>
        entry @k() {
          return loc(#cuda_tile.di_loc<loc("a.py":3:4) in #cuda_tile.di_lexical_block<scope = #s, file = #f, line = 2>>)
        }""")
    loc = module.entries[0].body.ops[0].loc
    assert isinstance(loc, DILoc) and loc.source is FileLineCol("a.py", 3, 4)
    assert loc.scope.file.name == "a.py"


def test_fused_locations_are_simplified_as_mlir_does() -> None:
    module = parse('entry @k() {} loc(fused["a":1:1, unknown, "a":1:1])')
    assert module.entries[0].loc is FileLineCol("a", 1, 1)


def test_values_may_be_used_before_they_are_defined() -> None:
    module = parse(body("%a = absi %b : tile<8xi32>\n  %b = iota : tile<8xi32>"))
    first, second = module.entries[0].body.ops[:2]
    assert first.operands == second.results and second.results[0].owner is second


def test_several_results_by_number() -> None:
    module = parse(body("%0:3 = get_tile_block_id : tile<i32>\n  %1 = addi %0#1, %0#2 : tile<i32>"))
    ids, add = module.entries[0].body.ops[:2]
    assert isinstance(add, AddI) and [add.lhs, add.rhs] == ids.results[1:]


def test_a_region_ends_the_life_of_its_names() -> None:
    module = parse(body("if %c {\n %a = iota : tile<8xi32>\n }\n %a = iota : tile<8xi32>"))
    assert sum(isinstance(o, Iota) for o in walk(module)) == 2


def test_terminators_that_say_nothing_may_be_left_out() -> None:
    module = parse(body("if %c {\n } else {\n }\n for %i in (%n to %n, step %n) : tile<i32> {\n }"))
    branch, loop = module.entries[0].body.ops[:2]
    assert isinstance(branch, If) and isinstance(loop, For) and branch.elseRegion is not None
    assert [b.ops[-1].name for b in (branch.thenRegion, branch.elseRegion, loop.region)] == [
        "yield",
        "yield",
        "continue",
    ]


def test_generic_form_with_properties_labels_and_regions() -> None:
    module = parse("""
        "cuda_tile.module"() <{sym_name = "m"}> ({
          "cuda_tile.entry"() <{sym_name = "k", function_type = (!cuda_tile.tile<f32>) -> (), arg_attrs = [{}]}> ({
          ^bb0(%x: !cuda_tile.tile<f32> loc("a":1:1)):
            %0 = "cuda_tile.addf"(%x, %x) <{rounding_mode = #cuda_tile.rounding<zero>, flush_to_zero}> {note = "n"}
              : (!cuda_tile.tile<f32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<f32>
            "cuda_tile.return"() : () -> ()
          }) : () -> ()
        }) : () -> ()""")
    add = module.entries[0].body.ops[0]
    assert isinstance(add, AddF)
    assert (add.rounding_mode.text, add.flush_to_zero, add.extra) == ("zero", True, {"note": StrAttr("n")})
    assert module.entries[0].arg_attrs is None


def test_unregistered_operations_where_they_are_allowed() -> None:
    text = '%0:2 = "foo.bar"(%n) ({\n "foo.in"() : () -> ()\n }) {a = 1 : i32} : (tile<i32>) -> (index, !foo.t<[1]>)'
    module = parse(body(text.replace("tile<i32>", "!cuda_tile.tile<i32>")), allow_unregistered=True)
    o = module.entries[0].body.ops[0]
    assert isinstance(o, UnknownOp) and o.name == "foo.bar"
    assert [v.type for v in o.outs] == [Foreign("index"), Foreign("!foo.t<[1]>")]
    assert o.extra == {"a": IntAttr(I32, 1)} and o.regions[0].ops[0].name == "foo.in"


def test_discardable_attributes() -> None:
    text = '%0 = iota {b = true, a, c = [1, -2 : i8, {z = "s", y = @f}], "d e" = 1.5} : tile<8xi32>'
    extra = parse(body(text)).entries[0].body.ops[0].extra
    assert extra is not None and list(extra) == ["a", "b", "c", "d e"]
    assert extra["b"] == IntAttr(I1, 1)
    inner = extra["c"].items[2]  # type: ignore[attr-defined]
    assert isinstance(inner, DictAttr) and [name for name, _ in inner.items] == ["y", "z"]


def test_an_attribute_of_the_op_may_stand_in_the_dictionary() -> None:
    o = parse(body("%0 = addf %x, %x {flush_to_zero} : tile<f32>")).entries[0].body.ops[0]
    assert isinstance(o, AddF) and o.flush_to_zero and o.extra is None


def test_argument_attributes_are_kept() -> None:
    entry = parse("entry @k(%a: tile<f32> {x = 1}, %b: tile<f32> loc(unknown)) {}").entries[0]
    assert entry.arg_attrs == (DictAttr((("x", IntAttr(I64, 1)),)), DictAttr())


@pytest.mark.parametrize(
    ("literal", "type", "elements"),
    [
        ("<i32: 7>", "tile<4xi32>", [7] * 4),
        ("<i8: [-1, 255, 0x0F, 1]>", "tile<4xi8>", [255, 255, 15, 1]),
        ("<i1: [true, false, 1, -1]>", "tile<4xi1>", [1, 0, 1, 1]),
        ("<i16: [[1, 2], [3, 4]]>", "tile<2x2xi16>", [1, 2, 3, 4]),
        ("<f32: [0.1, -0.0, 0x7F800000, 1.e3]>", "tile<4xf32>", [0x3DCCCCCD, 1 << 31, 0x7F800000, 0x447A0000]),
        ("<f16: [70000.0, -70000.0]>", "tile<2xf16>", [0x7C00, 0xFC00]),
        ("<f8E4M3FN: [448.0, 500.0]>", "tile<2xf8E4M3FN>", [0x7E, 0x7F]),
        ("<f4E2M1FN: [6.0, 100.0]>", "tile<2xf4E2M1FN>", [7, 7]),
        ('<i32: "0x0100000002000000">', "tile<2xi32>", [1, 2]),
    ],
)
def test_constants(literal: str, type: str, elements: list[int]) -> None:
    o = parse(body(f"%0 = constant {literal} : {type}")).entries[0].body.ops[0]
    assert isinstance(o, Constant) and o.value.elements() == elements and o.result.type is o.value.type


def test_equal_elements_are_stored_once() -> None:
    o = parse(body("%0 = constant <i32: [5, 5, 5, 5]> : tile<4xi32>")).entries[0].body.ops[0]
    assert isinstance(o, Constant) and o.value.data == b"\5\0\0\0"


def test_a_single_optional_value_goes_where_its_type_fits() -> None:
    """The official text of a load does not say whether a value is the mask or the padding."""
    types = {"tile<i1>": ("%c", "mask"), "tile<f32>": ("%x", "paddingValue")}
    for type, (value, field) in types.items():
        text = f"%0, %1 = load_ptr_tko weak %ptr, {value} : tile<ptr<f32>>, {type} -> tile<f32>, token"
        o = parse(body(text)).entries[0].body.ops[0]
        assert isinstance(o, LoadPtrTko) and getattr(o, field) is not None
        assert (o.mask is None) != (o.paddingValue is None)


def test_escapes_in_strings_and_symbols() -> None:
    module = parse('entry @"a b\\22"() {\n assert %c, "\\C3\\A4\\n\\FF" : tile<i1>\n }'.replace("()", "(%c: tile<i1>)"))
    assert module.entries[0].sym_name == 'a b"'
    assert module.entries[0].body.ops[0].message == "ä\n\udcff"  # type: ignore[attr-defined]


def test_regions_of_reduce_have_their_arguments_before_them() -> None:
    module = parse(whole(Reduce.opdef))
    reduce = next(o for o in walk(module) if isinstance(o, Reduce))
    assert [v.type for v in reduce.body.args] == [Tile((), F32)] * 2 and isinstance(reduce.body.ops[-1], Yield)


def test_old_names_are_understood() -> None:
    assert parse(body("%0 = pow %x, %x : tile<f32>")).entries[0].body.ops[0].name == "fpowf"


def test_the_testing_function_where_testing_is_on() -> None:
    assert parse("testing$func @f() {}", testing=True).body.ops[0].name == "testing$func"


def test_an_empty_text_is_an_empty_module() -> None:
    assert isinstance(parse(" // nothing\n"), Module) and parse("").body.ops == []


def test_globals_and_entries_keep_their_order() -> None:
    items = parse(
        "entry @a() {}\nglobal private constant @b alignment = 8 <i8: [1]> : tile<1xi8>\nentry @c() {}"
    ).body.ops
    assert [type(o) for o in items] == [Entry, Global, Entry]


# ---------------------------------------------------------------- hostile texts

DEEP = 20_000
HOSTILE = {
    "regions": "entry @k(%c: tile<i1>) {" + "if %c {" * DEEP + "}" * DEEP + "}",
    "generic regions": '"a.b"() ({' * DEEP + "}) : () -> ()" * DEEP,
    "arrays": "#a = " + "[" * DEEP,
    "function types": "!a = " + "(" * DEEP + ") -> ()" * DEEP,
    "tile types": "!a = " + "!cuda_tile.tile<" * DEEP,
    "locations": "#a = loc(" + "callsite(" * DEEP + "unknown" + " at unknown)" * DEEP + ")",
    "lists": "global @a <i32: " + "[" * DEEP + "1" + "]" * DEEP + "> : tile<4xi32>",
    "types that name each other": "!a0 = tuple<>\n" + "".join(f"!a{i + 1} = tuple<!a{i}, !a{i}>\n" for i in range(99)),
    "attributes that name each other": "#a0 = 1\n" + "".join(f"#a{i + 1} = [#a{i}, #a{i}]\n" for i in range(99)),
    "locations that name each other": '#a0 = loc("f":1:1)\n'
    + "".join(f"#a{i + 1} = loc(callsite(#a{i} at #a{i}))\n" for i in range(DEEP // 4)),
    "values that are not there": body("".join(f"%a{i} = absi %b{i} : tile<i32>\n" for i in range(DEEP // 4))),
    "digits": "global @a <f32: " + "9" * 10**6 + ".0e" + "9" * 10**6 + "> : tile<1xf32>",
    "quotes": '"\\q' * DEEP * 10,
    "brackets": "a_view<x<y>z" * DEEP,
    "comments": "//\n" * DEEP * 5 + "}",
    "one surrogate": "entry @k() {}\ud800",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_end_soon(name: str) -> None:
    try:
        parse(HOSTILE[name], allow_unregistered=True)
    except TileError as error:
        assert error.render()


# ---------------------------------------------------------------- real files


@pytest.mark.corpus
@pytest.mark.oracle
@pytest.mark.parametrize("path", oracle.corpus_files(40), ids=lambda p: p.name)
@pytest.mark.parametrize("options", [(), ("-g",)], ids=["plain", "locations"])
def test_the_text_of_real_files(path: Path, options: tuple[str, ...]) -> None:
    """What NVIDIA's disassembler prints parses, prints the same, and assembles to what prints the same again."""
    text = oracle.disassemble(path.read_bytes(), *options).stdout
    module = parse(text)
    assert show(module, style="disasm", locs=bool(options)) == text
    assert oracle.disassemble(write(module), *options).stdout == text

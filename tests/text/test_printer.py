"""Laws and examples of the text printer."""

from __future__ import annotations

import random
import re
import struct
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest

import tilery
from support import oracle
from tilery import TileError
from tilery.attrs import (
    ArrayAttr,
    Attr,
    CallSite,
    Dense,
    DICompileUnit,
    DIFile,
    DILoc,
    DISubprogram,
    DivBy,
    FileLineCol,
    IntAttr,
    Loc,
    StrAttr,
)
from tilery.declare.operation import OpDef
from tilery.floats.formats import float_text, nearest, scaled
from tilery.ir import Block, Op, Value
from tilery.ops import AddI, Assume, Constant, Entry, If, Module, Return, Yield, registered
from tilery.text.format import Group, Literal, Piece, Use, pieces_of
from tilery.text.print.attributes import attr_text, debug_text, dense_body, quote, symbol
from tilery.text.print.printer import show
from tilery.types import F16, F32, F64, FLOATS, I1, I32, SCALARS, Function, Scalar, Tile
from tilery.version import LATEST, SUPPORTED, V13_3

NUMBER, FLAG = Tile((), I32), Tile((), I1)
FIRST = "entry @k(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {"


def module(text: str) -> Module:
    """A module from its functions, or from the body of one."""
    text = textwrap.dedent(text).strip()
    if not re.match(r"(entry|global|cuda_tile\.module)\b", text):
        text = f"{FIRST}\n{text}\nreturn\n}}"
    made = tilery.parse(text if text.startswith("cuda_tile.module") else f"cuda_tile.module @kernels {{\n{text}\n}}")
    made.version = LATEST
    return made


def entry(params: list[Value], ops: list[Op], loc: Loc | None = None) -> Module:
    body = Block(params, [*ops, Return(operands_=())])
    made = Entry(sym_name="k", function_type=Function([v.type for v in params]), body=body)
    made.loc = loc
    return Module(body=Block(ops=[made]))


def results(text: str) -> list[str]:
    """What stands left of the equals signs in the body of the text."""
    return [line.split(" = ")[0].strip() for line in show(module(text)).splitlines() if " = " in line]


# ---------------------------------------------------------------- against NVIDIA's disassembler


@pytest.mark.corpus
@pytest.mark.oracle
@pytest.mark.parametrize("path", oracle.corpus_files(60), ids=lambda p: p.stem)
def test_real_files_read_as_nvidia_prints_them(path: Path) -> None:
    found = tilery.load(path)
    assert show(found) == oracle.disassemble(path.read_bytes()).stdout
    assert show(found, locs=True) == oracle.disassemble(path.read_bytes(), "-g").stdout


def agrees(made: Module) -> None:
    data = tilery.dumps(made, LATEST)
    for options in ((), ("-g",)):
        answer = oracle.disassemble(data, *options)
        assert answer.returncode == 0, answer.stderr
        assert show(tilery.load(data), locs=bool(options)) == answer.stdout


@pytest.mark.oracle
@pytest.mark.parametrize("opdef", registered(), ids=lambda d: d.mnemonic)
def test_every_example_reads_as_nvidia_prints_it(opdef: OpDef) -> None:
    agrees(module(opdef.example))


FILES = {
    "names": """
        %0 = addi %n, %n : tile<i32>
        %1 = constant <i32: 7> : tile<i32>
        %2 = constant <i32: 7> : tile<4xi32>
        %3 = assume div_by<2>, %0 : tile<i32>
        %4 = assume div_by<2>, %1 : tile<i32>
        %5 = assume bounded<?, 9>, %4 : tile<i32>
        %6:2 = for %i in (%n to %n, step %n) : tile<i32> iter_values(%a = %n, %b = %x) -> (tile<i32>, tile<f32>) {
          %7 = constant <i32: 7> : tile<i32>
          %8 = if %c -> (tile<i32>) {
            %9 = constant <i32: 7> : tile<i32>
            yield %9 : tile<i32>
          } else {
            %9 = constant <i32: 7> : tile<i32>
            yield %9 : tile<i32>
          }
          continue %8, %b : tile<i32>, tile<f32>
        }
        %10 = assume div_by<2>, %6#0 : tile<i32>
        %11:2 = loop iter_values(%a = %n) : tile<i32> -> tile<i32>, tile<i32> {
          break %a, %10 : tile<i32>, tile<i32>
        }
        %12 = assume div_by<2>, %11#1 : tile<i32>
        if %c {
        }""",
    "reductions": """
        %a = constant <f64: 1.0> : tile<8xf64>
        %0:2 = reduce %a, %a dim=0 identities=[0.5, 0x7FF0000000000000 : f64] : tile<8xf64>, tile<8xf64>
          -> tile<f64>, tile<f64>
        (%p: tile<f64>, %q: tile<f64>, %r: tile<f64>, %s: tile<f64>) {
          yield %p, %q : tile<f64>, tile<f64>
        }
        %1 = scan %a dim=0 reverse=true identities=[0.5] : tile<8xf64> -> tile<8xf64>
        (%p: tile<f64>, %q: tile<f64>) {
          yield %p : tile<f64>
        }""",
    "symbols": r"""
        global private constant @"a b" alignment = 16 <f32: [1.0, -0.0]> : tile<2xf32>
        global @plain$.1 <i1: [true, false]> : tile<2xi1>
        entry @"1 \22quoted\22\FF"() optimization_hints=<b = {z = "x\0A", a = [1, 2 : i32, 0.5]}, a = {}> {
          %0 = get_global @"a b" : tile<ptr<f32>>
          %1 = print_tko "\\ \22 \00\7F" -> token
          return
        } {sym_visibility = "private"}""",
    "views": """
        %0 = make_tensor_view %ptr, shape = [%n, 8], strides = [8, %n] : tile<i32>
          -> tensor_view<?x8xf32, strides=[8,?]>
        %1 = make_strided_view %0 : strided_view<tile=(4x2), traversal_strides=[3,1], padding_value = nan,
          tensor_view<?x8xf32, strides=[8,?]>, dim_map=[1, 0]>
        %2, %3 = load_view_tko relaxed sys %1[%n, %n] optimization_hints = <sm_100 = {latency = 2}>
          inbounds = [true, false] : strided_view<tile=(4x2), traversal_strides=[3,1], padding_value = nan,
          tensor_view<?x8xf32, strides=[8,?]>, dim_map=[1, 0]>, tile<i32> -> tile<4x2xf32>, token
        %4:2 = get_tensor_shape %0 : tensor_view<?x8xf32, strides=[8,?]> -> tile<i64>""",
    "nothing": "cuda_tile.module @kernels {\n}",
}


@pytest.mark.oracle
@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_these_read_as_nvidia_prints_them(text: str) -> None:
    agrees(module(text))


def floats(type: Scalar) -> list[int]:
    """Bit patterns: all of a small type, a sample of a large one. NVIDIA's tool crashes on half of fnv8E5M3FNU."""
    if type.bits <= 8:
        return [n for n in range(1 << type.bits) if type.name != "fnv8E5M3FNU" or n < 0x80 or n == 0xFF]
    chance = random.Random(oracle.SEED)
    found = [chance.getrandbits(type.bits) for _ in range(500)]
    code = {16: "<e", 32: "<f", 64: "<d"}.get(type.bits) if type.name != "bf16" else None
    if code:
        near = [chance.randrange(10**6) / 10 ** chance.randrange(7) for _ in range(250)]
        small = [value for value in near if value < 60000]
        found += [int.from_bytes(struct.pack(code, value), "little") for value in small]
    return found


@pytest.mark.oracle
@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_floats_read_as_nvidia_prints_them(type: Scalar) -> None:
    shape = (2,) if type.name == "f4E2M1FN" else ()
    constants: list[Op] = [Constant(value=Dense.of(Tile(shape, type), [bits])) for bits in floats(type)]
    agrees(entry([], constants))


@pytest.mark.oracle
def test_large_constants_read_as_nvidia_prints_them() -> None:
    chance = random.Random(oracle.SEED)
    constants: list[Op] = []
    for type in (SCALARS[name] for name in ("i1", "i8", "i32", "i64", "f16", "tf32", "f4E2M1FN")):
        for shape in ((2,), (2, 2, 4), (64,), (128,), (2, 64)):
            tile = Tile(shape, type)
            constants.append(Constant(value=Dense.of(tile, [chance.getrandbits(type.bits) for _ in range(tile.size)])))
    agrees(entry([], constants))


@pytest.mark.oracle
def test_locations_read_as_nvidia_prints_them() -> None:
    file = DIFile('a "b".py', "")
    unit = DICompileUnit(file)
    here = DISubprogram(file, 3, "f", "k", unit)
    other = DISubprogram(DIFile("b.py", "/x"), 3, "g", "g", unit, 4)
    outer = DILoc(FileLineCol("a.py", 3, 0), here)
    inner = CallSite(DILoc(FileLineCol("", 7, 1), other), outer)
    number, flag = Value(NUMBER), Value(FLAG)
    add = AddI(lhs=number, rhs=number)
    add.loc = CallSite(inner, outer)
    # The location of a terminator that is not printed gets no alias.
    hidden = Yield(operands_=())
    hidden.loc = DILoc(FileLineCol("hidden.py", 1, 1), here)
    choice = If(condition=flag, results_=(), thenRegion=Block(ops=[hidden]))
    agrees(entry([number, flag], [add, choice], outer))


# ---------------------------------------------------------------- formats


def flat(pieces: tuple[Piece, ...]) -> list[Piece]:
    return [p for piece in pieces for p in (flat(piece.pieces) if isinstance(piece, Group) else [piece])]


def test_a_format_mentions_every_operand_and_region() -> None:
    for opdef in registered(testing=True):
        if opdef.format != "custom":
            used = {p.field.name for p in flat(pieces_of(opdef.cls)) if isinstance(p, Use)}
            assert {f.name for f in (*opdef.operands, *opdef.regions)} <= used, opdef.mnemonic


def test_blanks_follow_mlirs_rules() -> None:
    pieces = pieces_of(tilery.ops.Extract)
    assert [(p.text, p.space) for p in pieces if isinstance(p, Literal)] == [
        ("[", False), ("]", False), (":", True), ("->", True)
    ]  # fmt: skip


# ---------------------------------------------------------------- styles


def test_the_three_styles() -> None:
    made = module("%0 = fpowf %x, %x : tile<f32>")
    line = "(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<f32>, %arg3: tile<i1>) {"
    assert show(made) == f"entry @k{line}\n  %0 = fpowf %arg2, %arg2 : tile<f32>\n  return\n}}\n"
    inner = f"  entry @k{line}\n    %0 = pow %arg2, %arg2 : tile<f32>\n    return\n  }}\n"
    assert show(made, "opt") == f"cuda_tile.module @kernels {{\n{inner}}}\n"
    generic = show(made, "generic").splitlines()
    assert generic[0] == '"cuda_tile.module"() <{sym_name = "kernels"}> ({'
    assert generic[3] == (
        '    %0 = "cuda_tile.pow"(%arg2, %arg2) : (!cuda_tile.tile<f32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<f32>'
    )
    assert generic[-1] == "}) : () -> ()"


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(TileError, match="one of disasm, opt, generic"):
        show(module(""), "pretty")


@pytest.mark.parametrize("style", ["disasm", "opt", "generic"])
@pytest.mark.parametrize("locs", [False, True])
@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_parsing_what_is_printed_prints_the_same(text: str, style: str, locs: bool) -> None:
    shown = show(module(text), style, locs)
    assert show(tilery.parse(shown), style, locs) == shown


def test_the_empty_rounding_leaves_its_blank() -> None:
    assert "subf %arg2, %arg2  : tile<f32>\n" in show(module("%0 = subf %x, %x : tile<f32>"))


def test_discardable_attributes_are_sorted_and_debug_information_gets_an_alias() -> None:
    text = """
        cuda_tile.module @m attributes {producer = "p"} {
          entry @k() {
            return {z, a = #cuda_tile.di_file<"f" in "d">}
          }
        }"""
    assert show(module(text), "opt").splitlines() == [
        '#di_file = #cuda_tile.di_file<"f" in "d">',
        'cuda_tile.module @m attributes {producer = "p"} {',
        "  entry @k() {",
        "    return {a = #di_file, z}",
        "  }",
        "}",
    ]


def test_unregistered_operations_are_printed_in_the_generic_form() -> None:
    text = f"""cuda_tile.module @m {{
  {FIRST}
    %0:2 = "a.b"(%n) ({{
      %1 = cuda_tile.addi %n, %n : tile<i32>
      "a.end"() : () -> ()
    }}) {{x = 1 : i32}} : (!cuda_tile.tile<i32>) -> (i32, !cuda_tile.tile<i32>)
    return
  }}
}}
"""
    shown = show(tilery.parse(text, allow_unregistered=True), "opt")
    for name, number in (("ptr", 0), ("n", 1), ("x", 2), ("c", 3)):
        text = text.replace(f"%{name}", f"%arg{number}")
    assert shown == text


# ---------------------------------------------------------------- names


def test_constants_are_named_after_their_value() -> None:
    constants = {
        "<i32: -1> : tile<i32>": "%cst_-1_i32",
        "<i32: [1, 2]> : tile<2xi32>": "%cst_i32",
        "<i1: true> : tile<4xi1>": "%true",
        "<i1: [true, false]> : tile<2xi1>": "%cst_i1",
        "<f32: 3.0> : tile<f32>": "%cst_3_f32",
        "<f32: -0.0> : tile<f32>": "%cst_f32",
        "<f32: 0x7FC00000> : tile<f32>": "%cst_NaN_f32",
        "<f64: 1.8446744073709552E+19> : tile<f64>": "%cst_f64",
    }
    for text, name in constants.items():
        assert results(f"%0 = constant {text}") == [name]


def test_a_name_that_is_taken_gets_a_number_that_all_names_share() -> None:
    text = """
        %0 = constant <i32: 1> : tile<i32>
        %1 = constant <i32: 1> : tile<i32>
        %2 = constant <i32: 2> : tile<i32>
        %3 = constant <i32: 2> : tile<i32>"""
    assert results(text) == ["%cst_1_i32", "%cst_1_i32_0", "%cst_2_i32", "%cst_2_i32_1"]


def test_an_assumption_is_named_after_what_it_is_about() -> None:
    text = """
        %0 = addi %n, %n : tile<i32>
        %1 = assume div_by<2>, %0 : tile<i32>
        %2 = constant <i32: 4> : tile<i32>
        %3 = assume div_by<2>, %2 : tile<i32>
        %4 = assume div_by<4>, %3 : tile<i32>
        %5 = if %c -> (tile<i32>) {
          yield %n : tile<i32>
        } else {
          yield %n : tile<i32>
        }
        %6 = assume div_by<2>, %5 : tile<i32>"""
    names = [name for name in results(text) if name.startswith("%assume")]
    assert names == ["%assume", "%assume_cst_4_i32", "%assume_assume_cst_4_i32", "%assume_"]


def test_sibling_regions_may_use_the_same_names() -> None:
    text = """
        if %c {
          %0 = constant <i32: 1> : tile<i32>
        } else {
          %0 = constant <i32: 1> : tile<i32>
        }
        %1 = constant <i32: 1> : tile<i32>"""
    assert results(text) == ["%cst_1_i32_0", "%cst_1_i32_0", "%cst_1_i32"]


# ---------------------------------------------------------------- attributes


def test_strings_are_escaped_by_bytes() -> None:
    assert quote('\\ "\t\x7f é\udcff') == r'"\\ \22\09\7F \C3\A9\FF"'
    assert [symbol(name) for name in ("_a$.1", "1", "a-b", "")] == [
        "@_a$.1",
        '@"1"',
        '@"a-b"',
        "@<<INVALID EMPTY SYMBOL>>",
    ]


def test_constants_of_more_than_a_hundred_elements_are_bytes() -> None:
    assert dense_body(Dense.of(Tile((2, 2), I32), [1, 2, 3, 0xFFFFFFFF])) == "[[1, 2], [3, -1]]"
    mixed = Dense.of(Tile((128,), I1), [0, 1] * 64)
    assert dense_body(mixed) == '"0x' + "0001" * 64 + '"'
    assert dense_body(Dense.of(Tile((128,), I1), [1] * 128)) == "true"


def test_debug_information_in_full() -> None:
    file = DIFile("a", "b")
    scope = DISubprogram(file, 1, "f", "k", DICompileUnit(file))
    inner = (
        '#cuda_tile.di_loc<loc("a":1:2) in #cuda_tile.di_subprogram<file = <"a" in "b">, line = 1, name = "f", '
        'linkageName = "k", compileUnit = <file = <"a" in "b">>>>'
    )
    assert debug_text(CallSite(DILoc(FileLineCol("a", 1, 2), scope), None)) == f"loc(callsite({inner} at unknown))"


# ---------------------------------------------------------------- floats


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_the_text_of_a_float_is_that_float(type: Scalar) -> None:
    for bits in floats(type):
        text = float_text(type, bits)
        if text.startswith("0x"):
            assert int(text, 16) == bits
        else:
            assert nearest(type, text.startswith("-"), Fraction(text.lstrip("-"))) == bits


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_a_finite_float_is_nearest_to_itself(type: Scalar) -> None:
    for bits in floats(type):
        parts = scaled(type, bits)
        if parts is not None:
            negative, mantissa, exponent = parts
            assert nearest(type, negative, mantissa * Fraction(2) ** exponent) == bits


def test_floats_have_the_value_that_python_gives_them() -> None:
    for type, code in ((F16, "<e"), (F32, "<f"), (F64, "<d")):
        for bits in floats(type):
            if (parts := scaled(type, bits)) is not None:
                value = Fraction(struct.unpack(code, bits.to_bytes(type.storage_bytes, "little"))[0])
                assert (-1 if parts[0] else 1) * parts[1] * Fraction(2) ** parts[2] == value


# ---------------------------------------------------------------- bounds


def test_a_text_that_is_too_long_is_refused() -> None:
    made = module("%0 = addi %n, %n : tile<i32>")
    size = len(show(made))
    assert len(show(made, limit=size)) == size
    with pytest.raises(TileError, match="longer than"):
        show(made, limit=size - 1)


def test_names_made_of_names_are_bounded() -> None:
    value = first = Value(NUMBER)
    ops: list[Op] = []
    for _ in range(20000):
        ops.append(Assume(value=value, predicate=DivBy(2), result=Value(NUMBER)))
        value = ops[-1].results[0]
    with pytest.raises(TileError, match="longer than"):
        show(entry([first], ops), limit=1 << 20)


@pytest.mark.parametrize("style", ["disasm", "opt", "generic"])
def test_nesting_is_no_recursion(style: str) -> None:
    flag = Value(FLAG)
    inner: list[Op] = []
    for _ in range(3000):
        inner = [If(condition=flag, results_=(), thenRegion=Block(ops=[*inner, Yield(operands_=())]))]
    shown = show(entry([flag], inner), style, limit=1 << 26)
    assert shown.count("if") == 3000


def test_deep_attributes_and_locations_are_no_recursion() -> None:
    attr: Attr = IntAttr(I32, 1)
    loc: Loc = FileLineCol("a", 1, 1)
    for _ in range(5000):
        attr, loc = ArrayAttr((attr, StrAttr("x"))), CallSite(loc, None)
    assert attr_text(attr).count('"x"') == 5000
    made = entry([], [], loc)
    assert show(made, locs=True).count("callsite") == 5000


def test_operations_that_are_not_valid_are_still_printed() -> None:
    """Reading does not verify, and people want to see what is wrong."""
    stray = Value(NUMBER)
    assert "addi <<UNKNOWN SSA VALUE>>, <<UNKNOWN SSA VALUE>> : tile<i32>" in show(
        entry([], [AddI(lhs=stray, rhs=stray)])
    )
    view = tilery.ops.MakeTensorView(base=stray, result=Value(NUMBER))
    assert '%tview = "cuda_tile.make_tensor_view"(<<UNKNOWN SSA VALUE>>)' in show(entry([], [view]))


# ---------------------------------------------------------------- the producer


@pytest.mark.oracle
@pytest.mark.parametrize("producer", ["cutile 1.7", "", ' größe "\\ ', None])
def test_producer_is_the_first_line(producer: str | None) -> None:
    made = tilery.parse("entry @k() { return }")
    made.producer = producer
    for version in SUPPORTED:
        data = tilery.dumps(made, version)
        text = show(tilery.load(data))
        assert text == oracle.disassemble(data).stdout
        again = tilery.load(tilery.dumps(tilery.parse(text)))
        assert again.producer == ((producer or None) if version >= V13_3 else None)


def test_debug_information_may_be_as_long_as_its_limit() -> None:
    loc = CallSite(FileLineCol("a.py", 1, 2), None)
    text = debug_text(loc)
    assert debug_text(loc, len(text)) == text
    with pytest.raises(TileError):
        debug_text(loc, len(text) - 1)

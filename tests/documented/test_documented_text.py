"""Text as documents promise it: names of values, the style, labels of regions, layouts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tilery
from support.documented import (
    CAS,
    HEAD,
    LAYOUT,
    LOAD,
    LOADED,
    RMW,
    STORE,
    TAIL,
    TILE,
    TOKEN,
    VIEW,
    printed,
    read,
    refused,
)
from tilery import TileError, documented, ops
from tilery.attrs import Dense
from tilery.cli.main import main
from tilery.declare.operation import OpDef
from tilery.declare.relations import SYMBOL
from tilery.ops import registered
from tilery.smith import smith
from tilery.text.spelling import ANSWERS, CUTE_ANSWER
from tilery.types import F32, I1, I32, Tile

# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("constant", "name"),
    [
        ("<i1: true> : tile<i1>", "true"),
        ("<i1: true> : tile<4xi1>", "true"),
        ("<i1: false> : tile<i1>", "false"),
        ("<f32: 0x7FC00000> : tile<f32>", "cst_NaN"),
        ("<f32: 0xFF800001> : tile<2xf32>", "cst_NaN"),
        ("<f16: 0x7C01> : tile<f16>", "cst_NaN"),
        ("<i1: [true, false]> : tile<2xi1>", "cst_i1"),
        ("<i32: 42> : tile<8xi32>", "cst_42"),
        ("<i8: -7> : tile<i8>", "cst_-7"),
        ("<i32: [1, 2]> : tile<2xi32>", "cst"),
        ("<f32: 1.0> : tile<f32>", "cst"),
        ("<f32: 0x7F800000> : tile<f32>", "cst"),
    ],
)
def test_constants_are_named_by_five_rules(constant: str, name: str) -> None:
    o = tilery.parse(f"entry @k() {{ %0 = constant {constant}\n return }}").entries[0].body.ops[0]
    assert isinstance(o, ops.Constant)
    assert documented.constant_name(o.value) == name
    module = tilery.parse(f"entry @k() {{ %0 = constant {constant}\n return }}")
    assert f"%{name} = constant" in tilery.show(module, names="documented")


def test_views_broadcasts_reductions_and_products_have_names() -> None:
    module = documented.parse(
        HEAD
        + """
  %a = constant <f32: 0.0> : tile<8x1xf32>
  %b = broadcast %a : tile<8x1xf32> -> tile<8x8xf32>
  %m = mmaf %b, %b, %b : tile<8x8xf32>, tile<8x8xf32>, tile<8x8xf32>
  %r = reduce %m dim=0 identities=[0.0 : f32] : tile<8x8xf32> -> tile<8xf32>
  (%l: tile<f32>, %n: tile<f32>) {
    %s = addf %l, %n : tile<f32>
    yield %s : tile<f32>
  }"""
        + TAIL
    )
    lines = tilery.show(module, names="documented").splitlines()
    heads = [line.split("=")[0].strip() for line in lines if " = " in line]
    assert heads == ["%view", "%view_0", "%0", "%cst", "%bcast", "%mm", "%red", "%1"]


def test_names_are_deterministic_and_mean_nothing() -> None:
    module = smith(5, size=80)
    text = tilery.show(module, names="documented")
    assert text == tilery.show(tilery.clone(module), names="documented")
    again = tilery.parse(text)
    for o in tilery.walk(module):
        o.loc = None
    again.producer = module.producer
    assert tilery.difference(module, again) is None or module.sym_name != again.sym_name


def test_results_that_share_a_name_take_one_number() -> None:
    module = documented.parse(
        HEAD + "%r:2 = if %cond -> (tile<i32>, tile<i32>) {\n yield %i, %j : tile<i32>, tile<i32>\n} else {\n"
        " yield %j, %i : tile<i32>, tile<i32>\n}\n%s = negi %r#1 : tile<i32>" + TAIL
    )
    lines = [line.strip() for line in tilery.show(module, names="documented").splitlines()]
    assert "%1:2 = if %arg3 -> (tile<i32>, tile<i32>) {" in lines
    assert "%2 = negi %1#1 : tile<i32>" in lines


def test_unknown_names_are_refused() -> None:
    with pytest.raises(TileError, match="one of disasm, documented"):
        tilery.show(smith(0), names="pretty")


# ---------------------------------------------------------------- the style


@pytest.mark.parametrize("names", ["disasm", "documented"])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_printed_is_read_back(seed: int, names: str) -> None:
    module = smith(seed, size=60)
    for o in tilery.walk(module):
        o.loc = None
    text = tilery.show(module, style="documented", names=names)
    again = documented.parse(text)
    assert tilery.difference(module, again) is None
    assert tilery.show(again, style="documented", names=names) == text


@pytest.mark.parametrize("opdef", [d for d in registered() if not d.has(SYMBOL)], ids=lambda d: d.mnemonic)
def test_every_operation_survives_the_style(opdef: OpDef) -> None:
    module = smith(1, size=4, mix={opdef.mnemonic: 1.0})
    for o in tilery.walk(module):
        o.loc = None
    assert any(o.opdef is opdef for o in tilery.walk(module))
    assert tilery.difference(module, documented.parse(tilery.show(module, style="documented"))) is None


@pytest.mark.parametrize("seed", range(6))
def test_locations_survive_the_style(seed: int) -> None:
    module = smith(seed, size=40)
    text = tilery.show(module, style="documented", locs=True)
    assert tilery.show(documented.parse(text), style="documented", locs=True) == text


def test_debug_information_among_attributes_has_its_name() -> None:
    text = HEAD + '%r = cuda_tile.negf %x {a = #cuda_tile.di_file<"f" in "d">} : tile<f32>' + TAIL
    shown = tilery.show(documented.parse(text), style="documented")
    assert shown.startswith('#di_file = #cuda_tile.di_file<"f" in "d">\n') and "{a = #di_file}" in shown


@pytest.mark.parametrize("style", ["disasm", "opt", "generic", "documented"])
def test_names_go_with_every_style(style: str) -> None:
    module = smith(4, size=30)
    text = tilery.show(module, style=style, names="documented")
    assert tilery.show(documented.parse(text), style=style, names="documented") == text


def test_cut_and_changed_texts_give_nothing_but_errors_with_a_place() -> None:
    rng = random.Random(11)
    texts = [HEAD + body + TAIL for body in (LOAD, LOADED + STORE, CAS, RMW, LAYOUT, *LOOPS.values())]
    words = ["gpu", "olt", "#cute.layout<", "(1@0", "^body:", "i1", ">", "@", "{", "%view[", "token=", ","]
    for _ in range(1000):
        text = rng.choice(texts)
        at, size = rng.randrange(len(text)), rng.randrange(12)
        text = text[:at] + rng.choice([*words, ""]) + text[at + size :]
        try:
            documented.parse(text, allow_unregistered=rng.random() < 0.5)
        except TileError as error:
            assert error.render() and error.source is not None


def test_long_texts_take_linear_time() -> None:
    lines = [
        f"%v{n}, %w{n} = cuda_tile.load_view_tko weak %view[%i, %j] : {VIEW} -> {TILE}, {TOKEN}" for n in range(3000)
    ]
    lines += [f"%r{n} = negf %x {{l = #cute.layout<(1@0, 16@1)>}} : tile<f32>" for n in range(3000)]
    module = documented.parse(HEAD + "\n".join(lines) + TAIL)
    assert tilery.show(module, style="documented", names="documented").count("#cute.layout") == 3000


def test_real_text_is_read_as_ever() -> None:
    module = smith(9, size=80)
    again = documented.parse(tilery.show(module, style="opt", locs=True))
    assert tilery.difference(tilery.parse(tilery.show(module, style="opt", locs=True)), again) is None


def test_prefixes_and_full_types() -> None:
    text = tilery.show(documented.parse(HEAD + TAIL), style="documented").splitlines()
    assert text[0] == "cuda_tile.module @m {"
    assert text[4] == "    %0 = cuda_tile.make_token : !cuda_tile.token"
    assert text[5] == "    cuda_tile.return"


def test_strings_and_dictionaries_are_left_alone() -> None:
    body = 'cuda_tile.assert %cond, "tile<8xf32> token, device" {a = "token", token} : tile<i1>'
    assert printed(body, "assert") == (
        'cuda_tile.assert %arg3, "tile<8xf32> token, device" {a = "token", token} : !cuda_tile.tile<i1>'
    )


# ---------------------------------------------------------------- regions


def test_branches_have_labels() -> None:
    body = """%r = cuda_tile.if %cond -> (!cuda_tile.tile<f32>) {
^then:
  cuda_tile.yield %x : !cuda_tile.tile<f32>
} else {
^else:
  cuda_tile.yield %x : !cuda_tile.tile<f32>
}"""
    (o,) = read(body)
    assert isinstance(o, ops.If)
    lines = tilery.show(documented.parse(HEAD + body + TAIL), style="documented").splitlines()
    assert [line.strip() for line in lines if "^" in line] == ["^then:", "^else:"]
    assert tilery.parse(HEAD + body + TAIL), "labels of a block without arguments are MLIR's, too"


def test_a_yield_shows_its_types() -> None:
    body = "%r:2 = if %cond -> (tile<f32>, tile<i32>) {\n yield %x, %i : tile<f32>, tile<i32>\n} else {\n"
    body += " yield %x, %j : tile<f32>, tile<i32>\n}"
    full = "!cuda_tile.tile<f32>, !cuda_tile.tile<i32>"
    lines = tilery.show(documented.parse(HEAD + body + TAIL), style="documented").splitlines()
    assert [line.strip() for line in lines if "yield" in line] == [
        f"cuda_tile.yield %arg4, %arg1 : {full}",
        f"cuda_tile.yield %arg4, %arg2 : {full}",
    ]
    shown = tilery.show(documented.parse(HEAD + body + TAIL))
    assert "yield %arg4, %arg1 : tile<f32>, tile<i32>" in shown


LOOPS = {
    "for": """cuda_tile.for %n in (%i to %j, step %i) : tile<i32> {
^body:
  cuda_tile.continue
}""",
    "loop": """cuda_tile.loop iter_values(%n = %i) : tile<i32> {
^body:
  cuda_tile.break
}""",
    "reduce": """%a = constant <f32: 0.0> : tile<8xf32>
%r = cuda_tile.reduce %a dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
(%l: tile<f32>, %n: tile<f32>) {
^body:
  yield %l : tile<f32>
}""",
    "scan": """%a = constant <f32: 0.0> : tile<8xf32>
%r = cuda_tile.scan %a dim=0 reverse=false identities=[0.0 : f32] : tile<8xf32> -> tile<8xf32>
(%l: tile<f32>, %n: tile<f32>) {
^body:
  yield %l : tile<f32>
}""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_bodies_have_labels(name: str) -> None:
    assert read(LOOPS[name])[-1].name == name
    text = tilery.show(documented.parse(HEAD + LOOPS[name] + TAIL), style="documented")
    assert text.count("^body:") == 1


# ---------------------------------------------------------------- logs and layouts


def test_dense_values_for_logs() -> None:
    assert documented.dense_log(Dense.of(Tile((2, 2), I32), [1, 2, 0xFFFFFFFF, 4])) == "1, 2, -1, 4"
    assert documented.dense_log(Dense.of(Tile((2,), F32), [0x3F800000])) == "1.000000e+00, 1.000000e+00"
    assert documented.dense_log(Dense.of(Tile((2,), I1), [1, 0])) == "true, false"


def test_dense_values_for_logs_are_no_text() -> None:
    with pytest.raises(TileError):
        tilery.parse(documented.dense_log(Dense.of(Tile((2,), I32), [1, 2])))


@pytest.mark.parametrize(
    "attr",
    ["#cute.layout<(1@0, 16@1)>", "#cute.shape<(128@0, 64@1)>", "#cute.stride<(1@0, 128@1)>",
     "#cute.layout<((1@0, 2@1), 4@2)>", "#cute.stride<7@0>"],
)  # fmt: skip
def test_layouts_are_attributes(attr: str) -> None:
    text = HEAD + f"%r = cuda_tile.negf %x {{layout = {attr}}} : tile<f32>" + TAIL
    module = documented.parse(text)
    o = module.entries[0].body.ops[3]
    found = (o.extra or {})["layout"]
    assert isinstance(found, documented.CuteAttr) and found.text == attr
    shown = tilery.show(module, style="documented")
    assert f"{{layout = {attr}}}" in shown
    assert tilery.difference(module, documented.parse(shown)) is None


def test_a_layout_knows_its_numbers() -> None:
    found = documented.parse_cute("layout", "(1@0, 16@1)")
    assert (found.kind, found.pairs) == ("layout", ((1, 0), (16, 1)))


@pytest.mark.parametrize(
    ("attr", "message"),
    [
        ("#cute.layout<(1@0, 16@)>", "#cute.layout: malformed parameter 1, '16@': expected a number, '@' and"),
        ("#cute.layout<(1, 16@1)>", "#cute.layout: malformed parameter 0, '1': expected a number, '@' and"),
        ("#cute.shape<(x@0)>", "#cute.shape: malformed parameter 0, 'x@0': expected"),
        ("#cute.stride<(1@0,)>", "#cute.stride: malformed parameter 1, ')': a pair"),
        ("#cute.stride<(1@0>", "#cute.stride: malformed parameter 0, '(1@0': it ends too early"),
        ("#cute.stride<()>", "#cute.stride: malformed parameter 0, ')': a pair"),
        ("#cute.stride<1@0, 2@1>", "#cute.stride: malformed parameter 0, ',': a pair"),
        ("#cute.tile<(1@0)>", "unknown attribute `tile` in dialect `cute`"),
        ("#cute.layout<(1@0\n", "unbalanced '<' character"),
        ("#cute.layout<" + "(" * 99 + ">", "tuples are nested more than 64 deep"),
        ("#cute.layout", "expected '<' in #cute.layout"),
    ],
)
def test_a_malformed_parameter_is_named(attr: str, message: str) -> None:
    error = refused(f"%r = cuda_tile.negf %x {{layout = {attr}}} : tile<f32>")
    assert message in error.message and error.line == 7


def test_layouts_are_refused_by_default_and_by_bytecode() -> None:
    text = HEAD + "%r = cuda_tile.negf %x {layout = #cute.layout<(1@0)>} : tile<f32>" + TAIL
    with pytest.raises(TileError) as caught:
        tilery.parse(text)
    assert CUTE_ANSWER in caught.value.notes
    with pytest.raises(TileError, match="bytecode cannot hold the discardable attribute 'layout'"):
        tilery.dumps(documented.parse(text))


# ---------------------------------------------------------------- the command


def test_the_command_prints_and_reads_the_style(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, made = tmp_path / "k.mlir", tmp_path / "k.tileirbc"
    source.write_text(HEAD + LOAD + TAIL)
    assert main(["asm", "--input", "documented", str(source), "-o", str(made)]) == 0
    assert main(["dis", "--style", "documented", "--names", "documented", str(made)]) == 0
    shown = capsys.readouterr().out
    assert "cuda_tile.load_view_tko acquire gpu %view_0[%arg1, %arg2] token=%0 : " in shown
    source.write_text(shown)
    assert main(["dis", "--input", "documented", str(source)]) == 0
    assert "load_view_tko acquire device %pview[%arg1, %arg2] token = %0 : partition_view" in capsys.readouterr().out
    assert main(["asm", str(source)]) == 1
    assert ANSWERS["gpu"] in capsys.readouterr().err
    assert main(["asm", "--input", "documented", str(made)]) == 1
    assert "this is bytecode" in capsys.readouterr().err


def test_the_command_prints_an_illegal_text_with_its_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.mlir"
    source.write_text(HEAD + "%r = cuda_tile.iota : !cuda_tile.tile<512xi8>" + TAIL)
    assert main(["dis", "--input", "documented", str(source)]) == 1
    shown = capsys.readouterr()
    assert "iota : tile<512xi8>" in shown.out and f"{source}:7:6: error: " in shown.err
    assert main(["dis", "--input", "documented", "--no-verify", str(source)]) == 0
    assert main(["asm", "--input", "documented", str(source)]) == 1
    source.write_bytes(b"\xff\xfe")
    assert main(["asm", "--input", "documented", str(source)]) == 1
    assert "not UTF-8" in capsys.readouterr().err

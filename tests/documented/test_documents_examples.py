"""The forms of the documents' examples, with values of our own: each is read in the documented style and comes back."""

from __future__ import annotations

import pytest

import tilery
from support.oracle import disassemble
from tilery import TileError, documented

# Each is a whole text, or the body of an entry that has these parameters.
PARAMETERS = """%n: tile<i32>, %cond: tile<i1>, %a: tile<i1>, %b: tile<i1>, %p: tile<ptr<f32>>, %q: tile<ptr<i32>>,
  %x: tile<f32>"""
VIEW = "!cuda_tile.partition_view<tile=(8x8), tensor_view<64x64xf32, strides=[64,1]>>"
MAKE_VIEW = """%t = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
%view = make_partition_view %t : partition_view<tile=(8x8), tensor_view<64x64xf32, strides=[64,1]>>
%tok0 = cuda_tile.make_token : !cuda_tile.token
"""
TILES = """%lhs = constant <f32: 0.5> : tile<128xf32>
%zero = constant <f32: 0.0> : tile<128xf32>
%mask = constant <i1: false> : tile<128xi1>
%u = constant <i32: 3> : tile<64xi32>
%poison = constant <i32: 0> : tile<64xi32>
"""
WHOLE = {
    "get_global": """global @table <f32: [0.25, 0.5, 0.75, 1.0]> : tile<4xf32>

entry @reader() {
  %ptr = get_global @table : tile<ptr<f32>>
  return
}""",
    "get_num_tile_blocks": """entry @sizes() {
  %x, %y, %z = get_num_tile_blocks : tile<i32>
  // print "x: %, y: %, z: %\\n", %x, %y, %z : tile<i32>, tile<i32>, tile<i32>
}""",
    "global": """global @table alignment = 128 <f32: [0.25, 0.5, 0.75, 1.0]> : tile<4xf32>
entry @nothing() {}""",
    "hints": """entry @hinted() optimization_hints=<
  sm_100 = {num_cta_in_cga = 8},
  sm_120 = {num_cta_in_cga = 16}
> {}""",
}
BODIES = {
    "addi": """%i = iota : tile<8xi32>
%c = cuda_tile.addi %i, %i : tile<8xi32>""",
    "load": MAKE_VIEW
    + f"""%v, %tok1 = cuda_tile.load_view_tko acquire gpu %view[%n, %n] token=%tok0
: {VIEW} -> !cuda_tile.tile<8x8xf32>, !cuda_tile.token""",
    "compare and swap": MAKE_VIEW
    + """%old, %tok1 = cuda_tile.atomic_cas_tko acq_rel gpu %q, %n, %n, %cond
token=%tok0 : !cuda_tile.tile<ptr<i32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i1>
-> !cuda_tile.tile<i32>, !cuda_tile.token""",
    "read, modify, write": MAKE_VIEW
    + """%old, %tok1 = cuda_tile.atomic_rmw_tko acquire gpu add %q, %n, %cond
token=%tok0 : !cuda_tile.tile<ptr<i32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i1>
-> !cuda_tile.tile<i32>, !cuda_tile.token""",
    "store": MAKE_VIEW
    + f"""%value = constant <f32: 1.5> : tile<8x8xf32>
%tok1 = cuda_tile.store_view_tko release gpu %view[%n, %n], %value
token=%tok0 : {VIEW}, !cuda_tile.tile<8x8xf32>
-> !cuda_tile.token""",
    "labelled branches": """%r = cuda_tile.if %cond -> (!cuda_tile.tile<i32>) {
^then:
cuda_tile.yield %n : !cuda_tile.tile<i32>
} else {
^else:
cuda_tile.yield %n : !cuda_tile.tile<i32>
}""",
    "layouts": """%r = negf %x {l = #cute.layout<(1@0, 16@1)>, s = #cute.shape<(128@0, 64@1)>,
  t = #cute.stride<(1@0, 128@1)>} : tile<f32>""",
    "joined ifs": TILES
    + """%f, %g = cuda_tile.if %cond -> (tile<128xf32>, tile<128xi1>) {
  %s = cuda_tile.mulf %lhs, %lhs : tile<128xf32>
  %m = cuda_tile.cmpf olt, %s, %zero : tile<128xf32>
  cuda_tile.yield %s, %m : tile<128xf32>, tile<128xi1>
} else {
  cuda_tile.yield %zero, %mask : tile<128xf32>, tile<128xi1>
}
%h = cuda_tile.if %cond -> (tile<128xf32>) {
  %y = cuda_tile.addf %f, %f : tile<128xf32>
  cuda_tile.yield %y : tile<128xf32>
} else {
  cuda_tile.yield %f : tile<128xf32>
}""",
    "nested ifs": TILES
    + """%r = cuda_tile.if %a -> (tile<64xi32>) {
  %inner = cuda_tile.if %b -> (tile<64xi32>) {
    %v = cuda_tile.muli %u, %u : tile<64xi32>
    cuda_tile.yield %v : tile<64xi32>
  } else {
    cuda_tile.yield %u : tile<64xi32>
  }
  cuda_tile.yield %inner : tile<64xi32>
} else {
  cuda_tile.yield %poison : tile<64xi32>
}""",
    "joined conditions": TILES
    + """%both = cuda_tile.andi %a, %b : i1
%r = cuda_tile.if %both -> (tile<64xi32>) {
  %v = cuda_tile.muli %u, %u : tile<64xi32>
  cuda_tile.yield %v : tile<64xi32>
} else {
  cuda_tile.yield %poison : tile<64xi32>
}""",
    "cat": """%l = constant <f32: 1.5> : tile<2x4xf32>
%0 = cat %l, %l dim = 1
  : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf32>
%1 = cat %l, %l dim = 0
  : tile<2x4xf32>, tile<2x4xf32> -> tile<4x4xf32>""",
    "cmpf": """%l = constant <f16: 0.5> : tile<f16>
%0 = cmpf equal ordered %l, %l : tile<f16> -> tile<i1>
%m = constant <f16: 0.5> : tile<2x2xf16>
%1 = cmpf less_than unordered %m, %m : tile<2x2xf16> -> tile<2x2xi1>
%o = constant <f64: 0.5> : tile<2x2xf64>""",
    "cmpi": """%l = constant <i16: 7> : tile<i16>
%0 = cmpi less_than %l, %l, signed : tile<i16> -> tile<i1>
%m = constant <i64: 7> : tile<2x2xi64>
%1 = cmpi equal %m, %m, signed : tile<2x2xi64> -> tile<2x2xi1>""",
    "constant": """%0 = constant <i32: 7> : tile<i32>
%1 = constant <i64: 8> : tile<i64>
%2 = constant <i32: [4, 5, 6, 7]> : tile<4xi32>
%3 = constant <f32: 0.5> : tile<2x4xf32>
%4 = constant <f64: [0.5, 1.5, 2.5, 3.5]> : tile<4xf64>""",
    "extract": """%i = constant <i32: 3> : tile<i32>
%l = constant <f32: 0.5> : tile<32x8xf32>
%0 = extract %l[%i, %i]
    : tile<32x8xf32> -> tile<4x2xf32>""",
    "mmaf": """%l = constant <f16: 0.5> : tile<4x8xf16>
%r = constant <f16: 0.5> : tile<8x2xf16>
%c = constant <f32: 0.5> : tile<4x2xf32>
%0 = mmaf %l, %r, %c
    : tile<4x8xf16>, tile<8x2xf16>,
      tile<4x2xf32>
%m = constant <f16: 0.5> : tile<2x4x8xf16>
%s = constant <f16: 0.5> : tile<2x8x2xf16>
%d = constant <f32: 0.5> : tile<2x4x2xf32>
%1 = mmaf %m, %s, %d
    : tile<2x4x8xf16>, tile<2x8x2xf16>,
      tile<2x4x2xf32>""",
    "mmai": """%l = cuda_tile.constant <i8: 7> : tile<4x8xi8>
%r = cuda_tile.constant <i8: 7> : tile<8x2xi8>
%c = cuda_tile.constant <i32: 7> : tile<4x2xi32>
%0 = mmai %l, %r, %c signed signed
    : tile<4x8xi8>, tile<8x2xi8>,
      tile<4x2xi32>
%m = cuda_tile.constant <i8: 7> : tile<2x4x8xi8>
%s = cuda_tile.constant <i8: 7> : tile<2x8x2xi8>
%d = cuda_tile.constant <i32: 7> : tile<2x4x2xi32>
%1 = mmai %m, %s, %d unsigned unsigned
    : tile<2x4x8xi8>, tile<2x8x2xi8>,
      tile<2x4x2xi32>""",
    "pack": """%l = constant <f16: 0.5> : tile<64xf16>
%0 = pack %l : tile<64xf16> -> tile<128xi8>""",
    "pack of four bits": """%l = constant <f4E2M1FN: 0.5> : tile<64xf4E2M1FN>
%0 = pack %l : tile<64xf4E2M1FN> -> tile<32xi8>""",
    "permute": """%l = constant <f16: 0.5> : tile<2x4x8xf16>
%0 = permute %l [2, 0, 1] : tile<2x4x8xf16> -> tile<8x2x4xf16>""",
    "reduce": """%l = constant <f32: 0.5> : tile<8xf32>
%0 = reduce %l dim=0 identities=[0.000000e+0 : f32] : tile<8xf32> -> tile<f32>
  (%one: tile<f32>, %sum: tile<f32>) {
    %next = addf %one, %sum : tile<f32>
    yield %next : tile<f32>
  }""",
    "reshape": """%s = constant <i8: 7> : tile<i8>
%0 = reshape %s
    : tile<i8> -> tile<1x1x1xi8>
%l = constant <f32: 0.5> : tile<8x2xf32>
%1 = reshape %l
    : tile<8x2xf32> -> tile<2x2x4x1xf32>
%m = constant <i32: [[7, 6, 5, 4], [3, 2, 1, 0]]>
    : tile<2x4xi32>
%2 = reshape %m
: tile<2x4xi32> -> tile<2x2x2xi32>
%flat = reshape %m
    : tile<2x4xi32> -> tile<8xi32>
%3 =  reshape %flat
        : tile<8xi32> -> tile<2x2x2xi32>""",
    "scan": """%l = constant <f32: 0.5> : tile<8x16xf32>
%0 = scan %l dim=1 reverse=false identities=[1.0 : f32] : tile<8x16xf32> -> tile<8x16xf32>
(%all: tile<f32>, %one: tile<f32>) {
  %next = mulf %all, %one rounding<nearest_even>: tile<f32>
  yield %next : tile<f32>
}""",
    "unpack": """%l = constant <i8: 7> : tile<64xi8>
%0 = unpack %l : tile<64xi8> -> tile<32xf16>""",
    "unpack of four bits": """%l = constant <i8: 7> : tile<64xi8>
%0 = unpack %l : tile<64xi8> -> tile<128xF4E2M1FN>""",
    "list": "%l = constant dense<i32: [1, 2, 3, 4]> : tile<4xi32>",
    "pointer without pointee": MAKE_VIEW
    + """%old, %tok1 = cuda_tile.atomic_cas_tko acq_rel gpu %q, %n, %n, %cond
token=%tok0 : !cuda_tile.tile<ptr>, !cuda_tile.tile<i32>, !cuda_tile.tile<i1>
-> !cuda_tile.tile<i32>, !cuda_tile.token""",
}
EXAMPLES = {**WHOLE, **{name: f"entry @k({PARAMETERS}) {{\n{body}\nreturn\n}}" for name, body in BODIES.items()}}


@pytest.mark.parametrize("text", list(EXAMPLES.values()), ids=list(EXAMPLES))
def test_examples(text: str) -> None:
    module = documented.parse(text)
    for names in ("disasm", "documented"):
        shown = tilery.show(module, style="documented", names=names)
        assert tilery.difference(module, documented.parse(shown)) is None
    real = tilery.show(module, style="opt")
    if "#cute" not in real:
        assert tilery.difference(module, tilery.parse(real)) is None


@pytest.mark.oracle
@pytest.mark.parametrize("text", [t for t in EXAMPLES.values() if "#cute" not in t])
def test_examples_mean_the_same_to_nvidia(text: str) -> None:
    """What was read in the documents' spelling is a module that NVIDIA's tool accepts and prints in its own."""
    module = documented.parse(text)
    judged = disassemble(tilery.dumps(module))
    assert (judged.returncode, judged.stderr) == (0, "")
    assert judged.stdout == tilery.show(module)


REFUSED = {
    "reduce with an argument of two": (
        BODIES["reduce"].replace("%one: tile<f32>", "%one: tile<2xf32>").replace("addf %one", "addf %sum"),
        "expect 0-rank tile type at index: 0",
    ),
    "reduce to the dimension": (
        BODIES["reduce"].replace("tile<8xf32>", "tile<8x64xf32>").replace("-> tile<f32>", "-> tile<8xf32>"),
        "inferred type(s) '!cuda_tile.tile<64xf32>' are incompatible with return type(s)",
    ),
    "store with a mask": (BODIES["store"].replace("%value\n", "%value, %cond\n"), "expected a mask that is a constant"),
}


@pytest.mark.parametrize(("body", "message"), list(REFUSED.values()), ids=list(REFUSED))
def test_examples_that_cannot_be(body: str, message: str) -> None:
    with pytest.raises(TileError) as caught:
        documented.parse(f"entry @k({PARAMETERS}) {{\n{body}\nreturn\n}}")
    assert message in caught.value.message

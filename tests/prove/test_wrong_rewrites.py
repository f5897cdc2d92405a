"""Rewrites that Z3 must not prove, each beside one that it must: a proof of either alone would show nothing."""

from __future__ import annotations

import random

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed")

import tilery  # noqa: E402
from tilery import ops  # noqa: E402
from tilery.enums import ComparisonOrdering, ComparisonPredicate, RoundingMode, Signedness  # noqa: E402
from tilery.floats import arithmetic as softfloat  # noqa: E402
from tilery.ir import Value  # noqa: E402
from tilery.prove import bits  # noqa: E402
from tilery.prove.symbolic import floats  # noqa: E402
from tilery.types import SCALARS, Tile  # noqa: E402


def module(body: str, params: str = "%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>, %c: tile<i1>") -> str:
    return f"cuda_tile.module @m {{ entry @k({params}) {{\n{body}\nreturn\n}} }}"


def kind(before: str, after: str) -> str:
    a, b = tilery.parse(before), tilery.parse(after)
    return str(bits(a.entries[0], b.entries[0], timeout=5, modules=(a, b)).facts["kind"])


def check(text: str, hole: str, first: str, right: str, wrong: list[str]) -> None:
    """Replace a hole in a kernel: the right text is proven, and none of the wrong ones."""
    before = text.replace(hole, first)
    assert kind(before, text.replace(hole, right)) == "proven"
    for other in wrong:
        assert kind(before, text.replace(hole, other)) != "proven", other


STORE = "%u = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token"
LOAD = "%v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token"


def test_loads_of_other_widths() -> None:
    narrow = """%p8 = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i8>>
    %v8, %t = load_ptr_tko weak %p8 : tile<ptr<i8>> -> tile<i8>, token
    %v = exti %v8 signed : tile<i8> -> tile<i32>"""
    same = "%x = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i32>>\n" + LOAD.replace("%p", "%x")
    check(module("LOAD\n" + STORE), "LOAD", LOAD, same, [narrow, narrow.replace("signed", "unsigned")])


def test_stores_of_other_widths() -> None:
    def store(t: str) -> str:
        return f"""%x = ptr_to_ptr %q : tile<ptr<i32>> -> tile<ptr<{t}>>
        %v = constant <{t}: 5> : tile<{t}>
        %u = store_ptr_tko weak %x, %v : tile<ptr<{t}>>, tile<{t}> -> token"""

    plain = f"%v = constant <i32: 5> : tile<i32>\n{STORE}"
    check(module("HERE"), "HERE", plain, store("i32"), [store(t) for t in ("i8", "i16", "i64")])


@pytest.mark.parametrize("t", ["tf32", "f32", "bf16", "f8E5M2"])
def test_padding_of_views(t: str) -> None:
    view = f"partition_view<tile=(16), padding_value = PAD, tensor_view<?x{t}, strides=[1]>>"
    out = f"partition_view<tile=(16), tensor_view<16x{t}, strides=[1]>>"
    text = module(
        f"""%tv = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?x{t}, strides=[1]>
        %pv = make_partition_view %tv : {view}
        %z = constant <i32: 0> : tile<i32>
        %v, %t = load_view_tko weak %pv[%z] : {view}, tile<i32> -> tile<16x{t}>, token
        %tw = make_tensor_view %b, shape = [16], strides = [1] : tensor_view<16x{t}, strides=[1]>
        %pw = make_partition_view %tw : {out}
        %u = store_view_tko weak %v, %pw[%z] : tile<16x{t}>, {out}, tile<i32> -> token""",
        f"%a: tile<ptr<{t}>>, %b: tile<ptr<{t}>>, %n: tile<i32>",
    )
    check(text, "PAD", "zero", "zero", ["neg_zero", "nan", "pos_inf", "neg_inf"])


def test_contents_of_globals() -> None:
    text = """cuda_tile.module @m {
      global @x <i32: [1, NUM]> : tile<2xi32>
      entry @k(%q: tile<ptr<i32>>) {
        %p = get_global @x : tile<ptr<i32>>
        %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
        %u = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
        return
      }
    }"""
    check(text, "NUM", "2", "2", ["3"])
    a, b = (tilery.parse(text.replace("NUM", n)).entries[0] for n in "23")
    assert "globals of one name have the same contents" in bits(a, b).assumed


def test_returns_in_nested_branches() -> None:
    text = module(
        f"if %c {{\n if %COND {{ return }}\n}}\n%v = constant <i32: 5> : tile<i32>\n{STORE}",
        "%q: tile<ptr<i32>>, %c: tile<i1>, %d: tile<i1>, %e: tile<i1>",
    )
    check(text, "%COND", "%d", "%d", ["%e", "%c"])


IN_A_LOOP = """%0 = constant <i32: 0> : tile<i32>
%1 = constant <i32: 1> : tile<i32>
%r = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%w = %p) -> (tile<ptr<i32>>) {
  FIRST
  %u = store_ptr_tko weak %p, %i : tile<ptr<i32>>, tile<i32> -> token
  SECOND
  %z = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  continue %w : tile<ptr<i32>>
}"""


@pytest.mark.parametrize("pointer", ["%p", "%w"])
def test_loads_around_stores_in_loops(pointer: str) -> None:
    """The pointer that the loop carries is the parameter, which cannot be seen."""
    load = LOAD.replace("%p", pointer)
    early = module(IN_A_LOOP.replace("FIRST", load).replace("SECOND", ""))
    late = module(IN_A_LOOP.replace("FIRST", "").replace("SECOND", load))
    before = module(LOAD.replace("%p", "%p") + "\n" + IN_A_LOOP.replace("FIRST", "").replace("SECOND", ""))
    assert kind(early, early) == kind(late, late) == "proven"
    for a, b in ((early, late), (late, early), (early, before), (late, before)):
        assert kind(a, b) != "proven"


def test_loads_after_stores() -> None:
    """Another load of the same state is the same; one of another state, address or width is not."""
    text = module(
        """%u = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token
        %v, %t = load_ptr_tko weak %p token=%u : tile<ptr<i32>> -> tile<i32>, token
        %y = store_ptr_tko weak %p, %v token=%t : tile<ptr<i32>>, tile<i32> -> token
        %w, %s = load_ptr_tko weak %p WHEN : tile<ptr<i32>> -> tile<i32>, token
        %m = addi %WHAT, %WHAT : tile<i32>
        %z = store_ptr_tko weak %q, %m : tile<ptr<i32>>, tile<i32> -> token"""
    )
    ordered = text.replace("WHEN", "token=%y")
    check(ordered, "%WHAT", "%w", "%w", ["%v", "%n"])
    twice = ordered.replace("addi %WHAT, %WHAT", "muli %WHAT, %two").replace(
        "%m =", "%two = constant <i32: 2> : tile<i32>\n%m ="
    )
    assert kind(ordered.replace("%WHAT", "%w"), twice.replace("%WHAT", "%w")) == "proven"
    other = text.replace("%WHAT", "%w")
    check(other, "WHEN", "token=%y", "token=%y", ["token=%u", "token=%t", ""])
    assert kind(other.replace("WHEN", "token=%u"), other.replace("WHEN", "token=%y")) == "proven"


def test_private_memory() -> None:
    text = module(
        f"""%a = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
        %b = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
        %s = store_ptr_tko weak %a, %n : tile<ptr<i32>>, tile<i32> -> token
        %x = store_ptr_tko weak %b, %m : tile<ptr<i32>>, tile<i32> -> token
        %o = join_tokens %s, %x : token
        %v, %t = load_ptr_tko weak %WHICH token=%o : tile<ptr<i32>> -> tile<i32>, token
        {STORE}""",
        "%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>, %m: tile<i32>",
    )
    check(text, "%WHICH", "%a", "%a", ["%b", "%p"])
    assert kind(text.replace("%WHICH", "%a"), text.replace("%WHICH", "%a").replace("%b, %m", "%b, %n")) != "proven"


PROMISE = """%x = iota : tile<4xi32>
%b = reshape %n : tile<i32> -> tile<1xi32>
%d = broadcast %b : tile<1xi32> -> tile<4xi32>
%y = addi %d, %x : tile<4xi32>
%g = muli %d, %x : tile<4xi32>
%a = assume WHAT, %WHO : tile<4xi32>
%m = addi %ONE, %OTHER : tile<4xi32>
%rp = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
%bp = broadcast %rp : tile<1xptr<i32>> -> tile<4xptr<i32>>
%op = offset %bp, %x : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
%u = store_ptr_tko weak %op, %m : tile<4xptr<i32>>, tile<4xi32> -> token"""


@pytest.mark.parametrize("what", ["same_elements<[4]>", "div_by<8, every 2 along 0>", "bounded<0, 7>", "div_by<4>"])
def test_promises_of_other_values(what: str) -> None:
    text = module(PROMISE.replace("WHAT", what))

    def about(who: str, one: str, other: str) -> str:
        return text.replace("%WHO", who).replace("%ONE", one).replace("%OTHER", other)

    before = about("%g", "%y", "%a")
    assert kind(before, before) == kind(before, about("%g", "%y", "%g")) == "proven"
    assert kind(before, about("%y", "%a", "%g")) != "proven"
    assert kind(about("%g", "%y", "%g"), before) != "proven"


PACK = "%x = pack %s : tile<4xi32> -> tile<16xi8>"
INSERT = "%x = insert %t, %s[%1] : tile<2xi32>, tile<4xi32>"
MOVES = {
    "pack": (
        f"{PACK}\n%r = unpack %x : tile<16xi8> -> tile<4xi32>",
        "%r = addi %s, %0 : tile<4xi32>",
        [
            "%r = addi %s, %s : tile<4xi32>",
            f"{PACK}\n%f = iota : tile<16xi8>\n%y = maxi %x, %f signed : tile<16xi8>\n"
            "%r = unpack %y : tile<16xi8> -> tile<4xi32>",
        ],
    ),
    "insert": (
        f"{INSERT}\n%r = insert %w, %x[%z] : tile<2xi32>, tile<4xi32>",
        "%r = cat %w, %t dim = 0 : tile<2xi32>, tile<2xi32> -> tile<4xi32>",
        ["%r = cat %t, %w dim = 0 : tile<2xi32>, tile<2xi32> -> tile<4xi32>", INSERT.replace("%x", "%r", 1)],
    ),
}


def _moved(body: str) -> str:
    return module(
        f"""%i = iota : tile<4xi32>
        %b = reshape %n : tile<i32> -> tile<1xi32>
        %d = broadcast %b : tile<1xi32> -> tile<4xi32>
        %s = addi %d, %i : tile<4xi32>
        %t = iota : tile<2xi32>
        %w = negi %t : tile<2xi32>
        %z = constant <i32: 0> : tile<i32>
        %1 = constant <i32: 1> : tile<i32>
        %0 = constant <i32: 0> : tile<4xi32>
        {body}
        %rp = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
        %bp = broadcast %rp : tile<1xptr<i32>> -> tile<4xptr<i32>>
        %op = offset %bp, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
        %u = store_ptr_tko weak %op, %r : tile<4xptr<i32>>, tile<4xi32> -> token"""
    )


@pytest.mark.parametrize("name", MOVES)
def test_moves_of_elements(name: str) -> None:
    before, right, wrong = MOVES[name]
    check(_moved("BODY"), "BODY", before, right, wrong)


@pytest.mark.parametrize("t", ["f16", "bf16", "tf32", "f32", "f64", "f8E5M2"])
def test_floats_of_z3_are_those_of_the_folding(t: str) -> None:
    """Two implementations that share nothing agree wherever both have a value; Z3 has one wherever the folding has."""
    rng, kind = random.Random(t), SCALARS[t]
    a, b = Value(Tile([], kind)), Value(Tile([], kind))
    edges = [0, kind.format.sign, 1, kind.format.top, kind.format.top + 1, kind.format.nan, kind.format.sign | 1]
    seen = 0
    for _ in range(60):
        x, y = (rng.choice(edges) if rng.random() < 0.3 else rng.getrandbits(kind.bits) for _ in range(2))
        mode, ftz = rng.choice(list(floats.MODES)), rng.random() < 0.3
        for make, fold in (
            (ops.AddF, softfloat.add),
            (ops.SubF, softfloat.sub),
            (ops.MulF, softfloat.mul),
            (ops.DivF, softfloat.div),
        ):
            o = make(lhs=a, rhs=b, rounding_mode=mode, flush_to_zero=ftz)
            expected = fold(kind, x, y, mode, ftz)
            seen += expected is not None
            assert expected is None or floats.evaluate(o, [x, y]) == expected, (o.name, x, y, mode, ftz)
        low = ops.MinF(lhs=a, rhs=b, propagate_nan=ftz)
        expected = softfloat.extreme(kind, x, y, False, ftz)
        assert expected is None or floats.evaluate(low, [x, y]) == expected
        how = rng.choice(list(ComparisonPredicate)), rng.choice(list(ComparisonOrdering))
        less = ops.CmpF(lhs=a, rhs=b, comparison_predicate=how[0], comparison_ordering=how[1])
        assert floats.evaluate(less, [x, y]) == softfloat.compare(*how, kind, x, y)
    assert seen > 50


FLOATS = ["f16", "bf16", "tf32", "f32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU"]


@pytest.mark.parametrize("target", FLOATS)
def test_conversions_of_z3_are_those_of_the_folding(target: str) -> None:
    rng, out, seen = random.Random(target), SCALARS[target], 0
    for _ in range(120):
        source, mode = SCALARS[rng.choice(FLOATS)], rng.choice(list(floats.MODES))
        if source is out:
            continue
        x = rng.getrandbits(source.bits)
        o = ops.FToF(from_=Value(Tile([2], source)), to=Value(Tile([2], out)), rounding_mode=mode)
        expected, found = softfloat.convert(source, out, x, mode), floats.evaluate(o, [x])
        seen += expected is not None and found is not None
        assert expected is None or found is None or found == expected, (source, x, mode)
        whole = SCALARS[rng.choice(["i8", "i16", "i32", "i64"])]
        n, sign = rng.getrandbits(rng.randrange(1, whole.bits + 1)), rng.choice(list(Signedness))
        i = ops.IToF(from_=Value(Tile([2], whole)), to=Value(Tile([2], out)), rounding_mode=mode, signedness=sign)
        expected, found = softfloat.from_int(whole, out, n, sign, mode), floats.evaluate(i, [n])
        assert expected is None or found is None or found == expected, (whole, n, sign, mode)
        back = ops.FToI(
            from_=Value(Tile([2], source)),
            to=Value(Tile([2], whole)),
            signedness=sign,
            saturating=rng.random() < 0.5,
            rounding_mode=RoundingMode.NEAREST_INT_TO_ZERO,
        )
        assert floats.evaluate(back, [x]) == softfloat.to_int(source, whole, x, sign, bool(back.saturating))
    assert seen > 10


def test_exits_in_another_order() -> None:
    text = module(
        """%0 = constant <i32: 0> : tile<i32>
        %1 = constant <i32: 1> : tile<i32>
        %v = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%a = %0) -> (tile<i32>) {
          %x = addi %a, %i : tile<i32>
          %y = muli %a, %i : tile<i32>
          BODY
        }
        """
        + STORE,
        "%q: tile<ptr<i32>>, %n: tile<i32>, %k: tile<i32>",
    )

    def ends(predicate: str, first: str, second: str) -> str:
        compare = f"%c = cmpi {predicate} %i, %k, signed : tile<i32> -> tile<i1>"
        return f"{compare}\nif %c {{ continue {first} : tile<i32> }}\ncontinue {second} : tile<i32>"

    wrong = [ends("greater_than_or_equal", "%x", "%y"), ends("greater_than", "%y", "%x"), ends("less_than", "%x", "%x")]
    check(text, "BODY", ends("less_than", "%x", "%y"), ends("greater_than_or_equal", "%y", "%x"), wrong)


def test_loops_with_the_same_iterations() -> None:
    text = module(
        f"""%0 = constant <i32: 0> : tile<i32>
        %7 = constant <i32: 7> : tile<i32>
        %end = constant <i32: END> : tile<i32>
        %v = for %i in (%0 to %end, step %7) : tile<i32> iter_values(%a = %n) -> (tile<i32>) {{
          %x = muli %a, %a : tile<i32>
          continue %x : tile<i32>
        }}
        {STORE}"""
    )
    check(text, "END", "5", "7", ["8", "0", "-1"])
    check(text, "END", "-1", "0", ["1"])


def test_branches_in_reductions() -> None:
    branch = "%m = if %c -> (tile<i32>) { yield %A : tile<i32> } else { yield %B : tile<i32> }"
    text = module(
        f"""%i = iota : tile<8xi32>
        %b = reshape %n : tile<i32> -> tile<1xi32>
        %d = broadcast %b : tile<1xi32> -> tile<8xi32>
        %s = muli %d, %i : tile<8xi32>
        %v = reduce %s dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>) {{
          %c = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
          BODY
          yield %m : tile<i32>
        }}
        {STORE}""",
        "%q: tile<ptr<i32>>, %n: tile<i32>",
    )
    wrong = [branch.replace("%A", "%x").replace("%B", "%y"), branch.replace("%A", "%y").replace("%B", "%y")]
    larger = "%m = select %c, %y, %x : tile<i1>, tile<i32>"
    check(text, "BODY", branch.replace("%A", "%y").replace("%B", "%x"), larger, wrong)


def test_halves_of_bytes() -> None:
    """Neighbours share an address, and their place in the tile decides which half is theirs: nothing may be proven."""
    text = module(
        """%i = iota : tile<2xi32>
        %r = reshape %a : tile<ptr<f4E2M1FN>> -> tile<1xptr<f4E2M1FN>>
        %b = broadcast %r : tile<1xptr<f4E2M1FN>> -> tile<2xptr<f4E2M1FN>>
        %o = offset %b, %i : tile<2xptr<f4E2M1FN>>, tile<2xi32> -> tile<2xptr<f4E2M1FN>>
        %v, %t = load_ptr_tko weak %WHERE : tile<2xptr<f4E2M1FN>> -> tile<2xf4E2M1FN>, token
        %w = pack %v : tile<2xf4E2M1FN> -> tile<1xi8>
        %s = reshape %q : tile<ptr<i8>> -> tile<1xptr<i8>>
        %u = store_ptr_tko weak %s, %w : tile<1xptr<i8>>, tile<1xi8> -> token""",
        "%a: tile<ptr<f4E2M1FN>>, %q: tile<ptr<i8>>",
    )
    assert kind(text.replace("%WHERE", "%o"), text.replace("%WHERE", "%b")) == "refused"

"""Bit for bit, for all inputs: what Z3 proves of kernels and passes."""

from __future__ import annotations

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed")

import execution_report  # noqa: E402
import tilery  # noqa: E402
from proving import families as library  # noqa: E402
from proving import passes_campaign  # noqa: E402
from tilery import Builder, Module, TileError  # noqa: E402
from tilery.builder import f32, i32, ptr  # noqa: E402
from tilery.passes.registry import HOMES  # noqa: E402
from tilery.prove import bits  # noqa: E402

FAMILIES = {family.name: family for family in library.families()}


def kernel(family: str, variant: str, fault: str = "") -> Module:
    make = FAMILIES[family].variants[variant]
    return (make(f=frozenset([fault])) if fault else make()).stages[0].module


def proven(a: Module, b: Module, *given: str) -> bool:
    return bits(a.entries[0], b.entries[0], given=given, timeout=5).is_equal


KERNELS = [
    ("gemm", "32x16"), ("gemm", "split-K 2"), ("gemm", "atomics"), ("gemm", "persistent"), ("softmax", "online 32"),
    ("layer norm", "Welford"), ("causal attention", "flash guarded"), ("linear attention", "chunks of 8"),
    ("transpose", "pointers"), ("convolution", "taps"),
]  # fmt: skip
NOT_BITS = {"fuse-fma", "fold-float", "pow-to-product"}
"""Passes that change bits, as they say, or fold float operations, which have no meaning here."""
OPTIONS = {"rename-symbol": "rename-symbol{old=gemm,new=other}"}


@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_pass_is_validated(name: str) -> None:
    """Whatever a pass changes is proven or, where it changes floats, not proven; no pass that keeps bits is refused."""
    changed = 0
    for family, variant in KERNELS:
        before = kernel(family, variant)
        try:
            after = tilery.optimize(before, OPTIONS.get(name, name))
        except TileError:
            continue  # rename-symbol: there is no such symbol
        if tilery.equal(before, after):
            continue
        changed += 1
        verdict = bits(before.entries[0], after.entries[0], timeout=5)
        assert verdict.is_equal or name in NOT_BITS, f"{name} on {family} {variant}: {verdict.reason}"
    assert changed or name in QUIET


KNOWN = """entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %small = assume bounded<0, 7>, %x : tile<i32>
  %8 = constant <i32: 8> : tile<i32>
  %less = cmpi less_than %small, %8, signed : tile<i32> -> tile<i1>
  %one = exti %less unsigned : tile<i1> -> tile<i32>
  %even = assume div_by<8>, %x : tile<i32>
  %rest = remi %even, %8 unsigned : tile<i32>
  %sum = addi %one, %rest : tile<i32>
  %t = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token
  return
}"""


def test_what_follows_from_assumptions_is_proven() -> None:
    before = tilery.parse(KNOWN)
    after = tilery.optimize(before, "fold-known,dce")
    assert "cmpi" not in str(after) and "remi" not in str(after) and proven(before, after)
    assert not proven(tilery.parse(KNOWN.replace("assume bounded<0, 7>", "assume bounded<0, 9>")), after)


QUIET = (
    "dce", "fold-int", "fold-known", "simplify", "loop-split", "rename-symbol", "documented", "fold-float",
    "merge-assumes", "pow-to-product", "strip-debug-info",
)  # fmt: skip
"""Passes that these kernels leave alone; `test_passes_on_random_modules` has modules that they change."""


@pytest.mark.parametrize(
    ("family", "variant", "fault"),
    [
        ("gemm", "32x16", "one_step_less"),
        ("gemm", "32x16", "no_padding"),
        ("gemm", "pointers", "short_mask"),
        ("softmax", "online 32", "old_max"),
        ("attention", "flash 16", "mask_le"),
        ("transpose", "pointers", "wrong_stride"),
        ("convolution", "taps", "forward"),
    ],
)
def test_faults_are_not_proven(family: str, variant: str, fault: str) -> None:
    assert not proven(kernel(family, variant), kernel(family, variant, fault))


def test_views_and_pointers_under_preconditions() -> None:
    views, pointers = kernel("transpose", "permute"), kernel("transpose", "pointers")
    assert not proven(views, pointers)  # an index may overflow
    given = ["p2 > 0", "p3 > 0", "p2*p3 < 2**31", "grid0*16 < 2**31", "grid1*16 < 2**31"]
    assert proven(views, pointers, *given)


def _ints(body: str, width: int = 32) -> Module:
    text = f"""entry @k(%p: tile<ptr<iN>>, %x: tile<iN>, %y: tile<iN>) {{
    {body}
    %t = store_ptr_tko weak %p, %r : tile<ptr<iN>>, tile<iN> -> token
    return
    }}"""
    return tilery.parse(f"cuda_tile.module @m {{ {text.replace('iN', f'i{width}')} }}")


ADD = "%r = addi %x, %y : tile<iN>"
NSW = "%r = addi %x, %y overflow<no_signed_wrap> : tile<iN>"


def test_promises_may_be_dropped_but_not_made() -> None:
    assert proven(_ints(NSW), _ints(ADD))
    assert not proven(_ints(ADD), _ints(NSW))
    bounded = (
        "%a = assume bounded<0, 100>, %x : tile<iN>\n%b = assume bounded<0, 100>, %y : tile<iN>\n"
        "%r = addi %a, %b{} : tile<iN>"
    )
    assert proven(_ints(bounded.format("")), _ints(bounded.format(" overflow<no_signed_wrap>")))


def test_integers_wrap() -> None:
    twice = "%c = constant <iN: 2> : tile<iN>\n%r = muli %x, %c : tile<iN>"
    assert proven(_ints(twice), _ints("%r = addi %x, %x : tile<iN>"))
    half = twice.replace("%r", "%d") + "\n%r = divi %d, %c signed : tile<iN>"
    assert not proven(_ints(half), _ints("%z = constant <iN: 0> : tile<iN>\n%r = addi %x, %z : tile<iN>"))


def test_reads_must_be_the_first_kernels() -> None:
    def kernel(mask: bool) -> Module:
        b = Builder()
        with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
            at = b.iota(16)
            keep = at < p.n
            v = b.load_ptr(p.x + at, mask=keep, other=0) if mask else b.load_ptr(p.x + at)
            b.store_ptr(p.y + at, b.select(keep, v, 0.0), mask=keep)
        return b.module

    assert proven(kernel(False), kernel(True))
    found = bits(kernel(True).entries[0], kernel(False).entries[0])
    assert "may read where A does not" in found.reason


def _at_a_promised_index(known: bool, promised: bool) -> Module:
    """Load at 2 or, where n is negative, at 1; what is promised of n may have removed the choice."""
    n = "assume bounded<0, ?>, %i" if promised else "addi %i, %zero"
    at = "%two" if known else "%choice"
    return tilery.parse(f"""entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %i: tile<i32>, %size: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %n = {n} : tile<i32>
      %negative = cmpi less_than %n, %zero, signed : tile<i32> -> tile<i1>
      %two = constant <i32: 2> : tile<i32>
      %choice = select %negative, %one, %two : tile<i1>, tile<i32>
      %t = make_tensor_view %x, shape = [%size], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
      %v = make_partition_view %t : partition_view<tile=(4), padding_value = zero, tensor_view<?xf32, strides=[1]>>
      %s, %token = load_view_tko weak %v[{at}] : {VIEW}, tile<i32> -> tile<4xf32>, token
      %yt = make_tensor_view %y, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>
      %yv = make_partition_view %yt : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
      %stored = store_view_tko weak %s, %yv[%zero] : tile<4xf32>, {STORED}, tile<i32> -> token
      return
    }}""")


VIEW = "partition_view<tile=(4), padding_value = zero, tensor_view<?xf32, strides=[1]>>"
STORED = "partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>"


def test_a_load_at_an_index_that_breaks_a_promise_may_be_anywhere() -> None:
    """As a store may: such a launch is a fault of the first kernel. Without the promise, it is none."""
    assert proven(_at_a_promised_index(False, True), _at_a_promised_index(True, True))
    assert not proven(_at_a_promised_index(False, False), _at_a_promised_index(True, False))


def _two_sums(swapped: bool) -> Module:
    """A loop that carries two values, of which one is stored."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
        with b.for_(0, p.n, carry=[b.full((1,), 0.0, f32), b.full((1,), 1.0, f32)]) as (i, u, v):
            x = b.load_ptr(b.reshape(p.x + i, 1))
            b.continue_(u + x * v, v + x * u)
        u, v = b.results
        b.store_ptr(b.reshape(p.y, 1), v if swapped else u)
    return b.module


def test_results_of_loops_are_told_apart() -> None:
    assert proven(_two_sums(False), _two_sums(False))
    assert not proven(_two_sums(False), _two_sums(True))


def _stores_in_loops(which: int) -> Module:
    """Two loops of different lengths, one of which stores the same number again and again."""
    b = Builder()
    with b.entry("k", y=ptr(f32), z=ptr(f32), m=i32, n=i32) as p:
        for number, count in enumerate((p.m, p.n)):
            with b.for_(0, count) as (i,):
                b.store_ptr(p.z + i, b.const(1.0, f32))
                if number == which:
                    b.store_ptr(p.y, b.const(2.0, f32))
                b.continue_()
    return b.module


CAPTURED = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %2 = constant <i32: 2> : tile<i32>
  %m = muli %n, %2 : tile<i32>
  %i = iota : tile<8xi32>
  %sum = reduce %i dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%a: tile<i32>, %b: tile<i32>) {
    %c = addi %a, %b : tile<i32>
    %d = addi %c, %m : tile<i32>
    yield %d : tile<i32>
  }
  %token = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""


def test_bodies_of_reductions_may_use_values_from_outside() -> None:
    """They are compared as operands are: whatever computes them."""
    before = tilery.parse(CAPTURED)
    assert proven(before, tilery.parse(CAPTURED.replace("muli %n, %2", "addi %n, %n")))
    assert not proven(before, tilery.parse(CAPTURED.replace("muli %n, %2", "muli %2, %2")))
    assert not proven(before, tilery.parse(CAPTURED.replace("addi %c, %m", "addi %c, %n")))


UNUSED = """entry @k(%n: tile<i32>, %p: tile<ptr<i32>>, %c: tile<i1>) {
  %true = constant <i1: true> : tile<i1>
  %1 = constant <i32: 1> : tile<i32>
  %outer = for %j in (%1 to %n, step %1) : tile<i32> iter_values(%last = %n) -> (tile<i32>) {
    %in:2 = for %i in (%1 to %n, step %1) : tile<i32> iter_values(%flag = %c, %sum = %last) -> (tile<i1>, tile<i32>) {
      %holds = ori %flag, %true : tile<i1>
      assert %holds, "" : tile<i1>
      %next = addi %sum, %i : tile<i32>
      continue %c, %next : tile<i1>, tile<i32>
    }
    continue %in#1 : tile<i32>
  }
  %token = store_ptr_tko weak %p, %outer : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""


def test_values_that_a_pass_makes_useless_but_leaves_in_place() -> None:
    """The first kernel needs a carried value that the second one still carries without needing it."""
    before = tilery.parse(UNUSED)
    after = tilery.parse(UNUSED.replace("assert %holds", "assert %true"))
    assert proven(before, after)
    other = UNUSED.replace("assert %holds", "assert %true").replace("addi %sum, %i", "addi %sum, %1")
    assert not proven(before, tilery.parse(other))
    assert not proven(before, tilery.parse(UNUSED.replace("assert %holds", "assert %flag")))
    assert not proven(after, tilery.parse(UNUSED.replace("assert %holds", "assert %flag")))


def test_effects_of_different_loops_are_told_apart() -> None:
    assert proven(_stores_in_loops(0), _stores_in_loops(0))
    assert not proven(_stores_in_loops(0), _stores_in_loops(1))


def test_loads_that_nothing_needs_are_reads() -> None:
    def kernel(load: bool, loop: bool = False) -> Module:
        b = Builder()
        with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
            if load:
                b.load_ptr(p.x + p.n)
            if loop:
                with b.for_(0, p.n) as (i,):
                    b.load_ptr(p.x + i)
                    b.continue_()
            b.store_ptr(p.y, b.const(2.0, f32))
        return b.module

    assert proven(kernel(True), kernel(False))
    assert proven(kernel(True), kernel(True))
    assert proven(kernel(False, True), kernel(False))
    assert not proven(kernel(False), kernel(True))
    assert not proven(kernel(False), kernel(False, True))


def test_loops_with_early_exits() -> None:
    def kernel(limit: int) -> Module:
        b = Builder()
        with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
            with b.loop(carry=[b.const(0, i32), b.full((1,), 0.0, f32)]) as (i, acc):
                with b.if_(i >= p.n):
                    b.break_(acc)
                b.continue_(i + 1, acc + b.load_ptr(b.reshape(p.x + i, 1)) * float(limit))
            b.store_ptr(b.reshape(p.y, 1), b.result)
        return b.module

    assert proven(kernel(2), kernel(2))
    assert not proven(kernel(2), kernel(3))


def test_early_returns_count() -> None:
    def kernel(leaves: bool) -> Module:
        b = Builder()
        with b.entry("k", y=ptr(f32), n=i32) as p:
            if leaves:
                with b.if_(p.n > 3):
                    b.return_()
            b.store_ptr(p.y, b.const(2.0, f32))
        return b.module

    assert proven(kernel(True), kernel(True))
    assert not proven(kernel(True), kernel(False))
    assert not proven(kernel(False), kernel(True))


def test_what_is_not_modelled_is_refused() -> None:
    table = ", ".join(map(str, range(2048)))
    text = f"""entry @k(%a: tile<ptr<i32>>) {{
      %r = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
      %p = broadcast %r : tile<1xptr<i32>> -> tile<2048xptr<i32>>
      %v = constant <i32: [{table}]> : tile<2048xi32>
      %u = store_ptr_tko weak %p, %v : tile<2048xptr<i32>>, tile<2048xi32> -> token
      return
    }}"""
    module = tilery.parse(text)
    found = bits(module.entries[0], module.entries[0])
    assert found.answer == "undecided"
    assert "a constant of more than 1024 different elements" in found.reason


def test_conditions_are_checked() -> None:
    a = kernel("transpose", "permute").entries[0]
    for text in ("p9 > 0", "open('x')", "p2 +", "p2"):
        with pytest.raises(TileError, match="given"):
            bits(a, a, given=[text])


def test_different_parameters() -> None:
    with pytest.raises(TileError, match="different parameters"):
        bits(kernel("transpose", "permute").entries[0], kernel("gemm", "32x16").entries[0])


NEVER = {"fuse-fma", "fold-float", "loop-split", "documented"}
"""Passes that change floats, or the number of loops, on which proofs fail."""


def test_passes_on_random_modules() -> None:
    """What is proven leaves the same memory, and passes that keep bits are proven or refused, but not contradicted."""
    outcomes: dict[str, set[str]] = {}
    for seed in range(6):
        for name, facts in passes_campaign.try_module(str(seed))["passes"].items():
            outcomes.setdefault(name, set()).add(facts["kind"])
            assert facts["kind"] != "proven" or facts["runs"] != execution_report.DIFFERS, (seed, name)
            assert facts["kind"] != "counterexample" or facts["runs"] != execution_report.DIFFERS or name in NEVER
            assert facts["kind"] != "law" or name in ("fuse-fma", "pow-to-product")
    fired = {"canonicalize", "cse", "dce", "fold-int", "licm", "simplify", "strip-debug-info"}
    assert {name for name, kinds in outcomes.items() if "proven" in kinds} >= fired


FUSED = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %a, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %b, %u = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
  %m = mulf %a, %a : tile<f32>
  %n = negf %b : tile<f32>
  %s = SUM : tile<f32>
  %v = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
}"""


@pytest.mark.parametrize("total", ["addf %m, %b", "addf %b, %m", "subf %m, %b", "addf %m, %n"])
def test_fused_products_are_the_same_under_a_law_only(total: str) -> None:
    before = tilery.parse(FUSED.replace("SUM", total))
    after = tilery.optimize(before, "fuse-fma")
    verdict = bits(before.entries[0], after.entries[0])
    assert verdict.answer == "undecided"
    assert verdict.facts["kind"] == "law"
    assert "an fma does not round its product" in verdict.reason
    other = tilery.parse(FUSED.replace("SUM", "addf %a, %b"))
    assert bits(other.entries[0], after.entries[0]).facts["kind"] == "counterexample"


def test_squares_are_products_under_a_law_only() -> None:
    square = FUSED.replace("%s = SUM", "%c = constant <f32: 2.0> : tile<f32>\n  %s = pow %a, %c")
    kernels = [tilery.parse(text).entries[0] for text in (square, FUSED.replace("SUM", "mulf %a, %a"))]
    verdict = bits(*kernels)
    assert verdict.facts["kind"] == "law"
    assert "a power may be another float" in verdict.reason


def test_a_loop_that_became_two_is_no_counterexample() -> None:
    """The second loop has no effect, so that one loop is compared with one that runs less often."""
    before = tilery.parse("""entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
      %0 = constant <i32: 0> : tile<i32>
      %1 = constant <i32: 1> : tile<i32>
      %9 = constant <i32: 9> : tile<i32>
      for %i in (%0 to %9, step %1) : tile<i32> {
        %c = cmpi less_than %i, %n, signed : tile<i32> -> tile<i1>
        if %c {
          %t = store_ptr_tko weak %p, %i : tile<ptr<i32>>, tile<i32> -> token
        }
      }
    }""")
    after = tilery.optimize(before, "loop-split")
    assert not tilery.equal(before, after)
    verdict = bits(before.entries[0], after.entries[0])
    assert (verdict.facts["kind"], verdict.reason) == ("refused", "the kernels have different numbers of loops")


def test_merged_assumptions() -> None:
    before = _ints(
        "%a = assume bounded<0, ?>, %x : tile<iN>\n%b = assume bounded<?, 100>, %a : tile<iN>\n"
        "%r = addi %b, %y : tile<iN>"
    )
    after = tilery.optimize(before, "merge-assumes")
    assert not tilery.equal(before, after)
    assert proven(before, after)


def test_folded_integers() -> None:
    before = _ints(
        "%c = constant <iN: 6> : tile<iN>\n%d = constant <iN: 7> : tile<iN>\n%e = muli %c, %d : tile<iN>\n"
        "%r = addi %e, %y : tile<iN>"
    )
    after = tilery.optimize(before, "fold-int")
    assert not tilery.equal(before, after)
    assert proven(before, after)


def test_ordered_loads_stay_where_they_are() -> None:
    def kernel(swapped: bool) -> Module:
        b = Builder()
        with b.entry("k", x=ptr(f32), y=ptr(f32), z=ptr(f32)) as p:
            first, second = (p.y, p.x) if swapped else (p.x, p.y)
            u, v = (b.load_ptr(q, order="relaxed", memory_scope="device") for q in (first, second))
            b.store_ptr(p.z, (v + u) if swapped else u + v)
        return b.module

    assert proven(kernel(False), kernel(False))
    assert not proven(kernel(False), kernel(True))


def test_names_of_globals_may_be_any_bytes() -> None:
    text = b"""cuda_tile.module @m {
      global @"\\FE\\22 x" <i32: [1, 2]> : tile<2xi32>
      entry @k(%q: tile<ptr<i32>>) {
        %p = get_global @"\\FE\\22 x" : tile<ptr<i32>>
        %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
        %u = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
        return
      }
    }"""
    module = tilery.parse(text.decode())
    assert not module.globals[0].sym_name.isprintable()
    assert proven(module, tilery.clone(module))

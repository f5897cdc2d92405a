"""The table of semantics knows every operation, and says what it leaves open."""

from __future__ import annotations

import pytest

import tilery
from text.test_printer import module as example_module
from tilery.engines.semantics import SEMANTICS, same_bits
from tilery.ir import walk
from tilery.ops import MaxF, MinF, Reduce, Scan, registered
from tilery.smith import smith


def test_every_operation_is_known() -> None:
    assert set(SEMANTICS) == {d.cls for d in registered()}


def test_what_may_differ_is_explained() -> None:
    for cls, row in SEMANTICS.items():
        assert not row.differs or row.may_differ is not None, f"{cls}: comparisons with hardware need `may_differ`"
        assert row.may_differ is None or row.text != "exact", cls
        assert all(text == text.strip() and text.endswith(".") for text in row[:3] if text), cls


def test_same_bits_can_be_asked_of_every_example() -> None:
    for opdef in registered():
        found = [o for o in walk(example_module(opdef.example)) if isinstance(o, opdef.cls)]
        assert found and all(isinstance(same_bits(o), bool) for o in found), opdef.mnemonic


@pytest.mark.parametrize("kind", ["minf", "maxf"])
@pytest.mark.parametrize("flag", ["", "propagate_nan"])
def test_extremes_that_drop_nan_have_no_neutral_identity(kind: str, flag: str) -> None:
    """An H200 reduces 128 NaN to the identity -inf; random modules have no such reductions."""
    body = f"{{ %r = {kind} %x, %y {flag} : tile<f32> yield %r : tile<f32> }}"
    text = f"""entry @k() {{ %v = constant <f32: 0.0> : tile<128xf32>
      %o = reduce %v dim=0 identities=[0xFF800000 : f32] : tile<128xf32> -> tile<f32>
        (%x: tile<f32>, %y: tile<f32>) {body}
      return }}"""
    (o,) = (o for o in walk(tilery.parse(text)) if isinstance(o, Reduce))
    assert same_bits(o) == bool(flag)


def test_random_reductions_have_neutral_identities() -> None:
    seen = 0
    for seed in range(40):
        module = smith(seed, size=20, mix={"reduce": 1.0, "scan": 1.0})
        bodies = [o.body for o in walk(module) if isinstance(o, Reduce | Scan)]
        extremes = [o for body in bodies for o in body.ops if isinstance(o, MaxF | MinF)]
        assert all(o.propagate_nan for o in extremes)
        seen += len(extremes)
    assert seen > 20

"""Families of programs that compute the same: every two of a family are an equal pair. Faults are planted in some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tilery.prove import Buffer, Program

from . import attention, elements, products, rows
from .products import Faults
from .sizes import now

Maker = Callable[..., Program]


@dataclass(slots=True)
class Family:
    """Programs by name, over the same buffers. The first one is what faults are compared with."""

    name: str
    inputs: Mapping[str, Any]
    outs: Mapping[str, Any]
    variants: Mapping[str, Maker]
    faults: Mapping[str, str] = field(default_factory=dict)
    """Names of faults, separated by spaces, for some variants."""
    zeros: tuple[str, ...] = ()
    """Variants that add to their outputs, which start at zero."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        return combinations(self.variants, 2)

    def outputs(self, *names: str) -> dict[str, Any]:
        """Return the outputs; they start at zero if a variant needs that."""
        import numpy as np

        if not any(name in self.zeros for name in names):
            return dict(self.outs)
        return {name: Buffer(shape, "given", np.zeros(shape)) for name, shape in self.outs.items()}


def _rows(make: Callable[..., Program], **options: Any) -> Maker:
    return lambda f=frozenset[str](): make(f=f, **options)


ACTIVATIONS = {
    "gelu": (("gelu tanh", "square"), ("gelu exp", "half sign")),
    "silu": (("silu", "half"), ("silu sigmoid", ""), ("silu tanh", "half")),
    "relu squared": (("relu squared", "min"), ("relu power", "")),
    "softplus": (("softplus", ""), ("softplus shifted", "minus")),
    "leaky": (("leaky", ""), ("leaky other way", "slope")),
}


def _activations() -> Iterator[Family]:
    for name, forms in ACTIVATIONS.items():
        made: dict[str, Maker] = {}
        for form, _ in forms:
            made[form] = _rows(elements.activation, form=form)
            made[f"{form}, loop"] = _rows(elements.activation, form=form, loop=True, tile=32)
        yield Family(name, {"x": (now().elements,)}, {"y": (now().elements,)}, made, dict(forms))


def families() -> list[Family]:
    """Return all families, for the sizes of now."""
    s = now()
    R, C = s.rows, s.columns
    softmax = {
        "whole": _rows(rows.softmax),
        "masked": _rows(rows.softmax, masked=True),
        "no shift": _rows(rows.softmax, shift=False),
        "online 32": _rows(rows.online),
        "online 16 base 2": _rows(rows.online, tile=16, base2=True),
        "online inverse": _rows(rows.online, tile=64, inverse=True),
        "three passes": _rows(rows.three_passes),
    }
    softmax_faults = {
        "whole": "pad_zero no_pad swapped_sub swapped_div",
        "online 32": "pad_zero floor_steps swapped_rescale no_rescale old_max no_shift_at_end same_tile_out",
        "three passes": "forget_acc no_division",
    }
    lse = {
        "running": _rows(rows.logsumexp),
        "running 16": _rows(rows.logsumexp, tile=16),
        "plain": _rows(rows.logsumexp, running=False, shift=False),
        "constant shift": _rows(rows.logsumexp, running=False),
    }
    norm = {
        "two passes": _rows(rows.layer_norm),
        "one pass": _rows(rows.layer_norm, how="one"),
        "tiles": _rows(rows.layer_norm_tiles),
        "tiles 16": _rows(rows.layer_norm_tiles, tile=16),
        "Welford": _rows(rows.layer_norm_tiles, welford=True),
    }
    norm_faults = {
        "two passes": "n_is_cols no_mask other_eps no_eps sqrt_for_rsqrt no_gamma minus_beta",
        "one pass": "mean_not_squared swapped_var",
        "tiles": "beta_for_gamma",
        "Welford": "welford_weight",
    }
    rms = {
        "whole": _rows(rows.rms_norm, how="whole"),
        "loop": _rows(rows.rms_norm),
        "loop 16": _rows(rows.rms_norm, tile=16),
    }
    rms_faults = {"whole": "divide", "loop": "no_square no_mean"}
    sum_faults = {"vector": "floor_steps", "scalar": "starts_at_1"}
    sums = {
        "vector": _rows(rows.row_sums),
        "scalar": _rows(rows.row_sums, how="scalar"),
        "product": _rows(rows.row_sums, how="product", tile=16),
        "atomics": _rows(rows.row_sums, how="atomics"),
    }
    return [
        Family(
            "gemm",
            {"a": (s.m, s.k), "b": (s.k, s.n)},
            {"c": (s.m, s.n)},
            products.VARIANTS,
            products.FAULTS,
            ("atomics", "atomics 4"),
        ),
        Family("softmax", {"x": (R, C)}, {"y": (R, C)}, softmax, softmax_faults),
        Family("logsumexp", {"x": (R, C)}, {"y": (R, 1)}, lse, {"running": "no_rescale no_max minus_max"}),
        Family("layer norm", {"x": (R, C), "g": (C,), "h": (C,)}, {"y": (R, C)}, norm, norm_faults),
        Family("rms norm", {"x": (R, C), "g": (C,)}, {"y": (R, C)}, rms, rms_faults),
        Family(
            "row sums",
            {"x": (R, C)},
            {"y": (R, 1)},
            sums,
            sum_faults,
            ("atomics",),
        ),
        *_attention(),
        *_activations(),
        *_others(),
    ]


def _attention() -> Iterator[Family]:
    n, d = now().queries, attention.D
    inputs, outs = {"q": (n, d), "k": (n, d), "v": (n, d), "scale": ()}, {"o": (n, d)}
    plain = {
        "naive": _rows(attention.naive),
        "naive late": _rows(attention.naive, late=True),
        "flash 16": _rows(attention.flash),
        "flash 32": _rows(attention.flash, tile=32),
        "flash base 2": _rows(attention.flash, base2=True),
        "flash down": _rows(attention.flash, down=True),
        "decoding": _rows(attention.decoding),
    }
    faults = {
        "naive": "no_scale no_mask",
        "flash 16": "one_step_less v_index no_scale scale_twice mask_without_offset no_mask mask_le l_no_rescale "
        "acc_no_rescale acc_rescale_twice no_final_division",
        "decoding": "stores_lse l_no_scale acc_no_scale",
    }
    causal = {
        "naive": _rows(attention.naive, causal=True),
        "flash": _rows(attention.flash, causal=True),
        "flash guarded": _rows(attention.flash, causal=True, guard=True),
        "flash skipping": _rows(attention.flash, causal=True, skip=True),
    }
    yield Family("attention", inputs, outs, plain, faults)
    yield Family(
        "causal attention",
        inputs,
        outs,
        causal,
        {"flash": "strict_causal acc_no_rescale", "flash skipping": "one_step_less mask_without_offset"},
    )
    linear = {
        "recurrent": _rows(attention.recurrent),
        "chunks of 8": _rows(attention.chunked),
        "chunks of 4": _rows(attention.chunked, size=4),
        "chunks of 16": _rows(attention.chunked, size=16),
    }
    linear_faults = {
        "recurrent": "no_decay decay_late old_state",
        "chunks of 8": "strict no_causal no_decay_q no_decay_k state_no_decay",
    }
    steps = now().steps
    inputs = {"q": (steps, d), "k": (steps, d), "v": (steps, d), "g": (steps,)}
    yield Family("linear attention", inputs, {"o": (steps, d)}, linear, linear_faults)


def _others() -> Iterator[Family]:
    hows = {how: _rows(elements.transpose, how=how) for how in ("permute", "reshape", "dim_map", "rows", "pointers")}
    faults = {"reshape": "wrong_permutation", "pointers": "mask_one_side wrong_stride"}
    m, n = now().across
    yield Family("transpose", {"x": (m, n)}, {"y": (n, m)}, hows, faults)
    scans = {how: _rows(elements.cumsum, how=how) for how in ("scan", "triangle", "elements")}
    faults = {"scan": "no_carry", "triangle": "strict", "elements": "exclusive"}
    line = (now().line,)
    yield Family("cumsum", {"x": line}, {"y": line}, scans, faults)
    taps = {how: _rows(elements.convolution, how=how) for how in ("taps", "unrolled", "last first")}
    faults = {"taps": "tap_less forward", "unrolled": "reversed"}
    yield Family("convolution", {"x": line, "w": (5,)}, {"y": line}, taps, faults)
    turns = {how: _rows(elements.rotate, how=how) for how in ("halves", "fma", "loop")}
    n = now().turns
    inputs = {"x": (n, 16), "c": (n, 8), "s": (n, 8)}
    yield Family("rotation", inputs, {"y": (n, 16)}, turns, {"halves": "wrong_sign swapped"})


def planted(family: Family) -> Iterator[tuple[str, Faults]]:
    """Yield a variant and a fault in it."""
    for variant, text in family.faults.items():
        for fault in text.split():
            yield variant, frozenset([fault])

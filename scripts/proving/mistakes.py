"""Published mistakes in kernels, reproduced as Tile IR beside the corrected form, and what `tilery prove` says of them.

Each was described in a public issue; the kernels here are written anew from the description.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilery import Builder
from tilery.builder import f32, i32, ptr
from tilery.prove import Program, Verdict, reals

from . import rows

T, D, BT = 24, 16, 16
H = 3


@dataclass(slots=True)
class Mistake:
    """A mistake: where it was published, what it is, and both kernels."""

    source: str
    what: str
    right: Callable[[], Program]
    wrong: Callable[[], Program]
    inputs: dict[str, Any]
    outs: dict[str, Any]

    def compare(self) -> Verdict:
        return reals(self.right(), self.wrong(), self.inputs, self.outs, probe=False)


def tail_rows(masked: bool) -> Program:
    """Chunked causal attention whose scores are scaled per row; the last chunk has rows past the end."""
    b = Builder()
    with b.entry("k", q=ptr(f32), k=ptr(f32), v=ptr(f32), s=ptr(f32), o=ptr(f32), t=i32) as p:
        i, _, _ = b.block_id()
        q, k, v = (b.load(b.view(w, (p.t, D), tile=(BT, D), padding="zero"), (i, 0)) for w in (p.q, p.k, p.v))
        row = b.broadcast(b.reshape(b.iota(BT), BT, 1), BT, BT)
        col = b.broadcast(b.reshape(b.iota(BT), 1, BT), BT, BT)
        causal = col <= row
        keep = causal & (row + i * BT < p.t) if masked else causal
        scale = b.load_ptr(p.s + (row + i * BT), mask=keep, other=0)
        scores = b.mma(q, b.permute(k, 1, 0), b.zeros((BT, BT), f32)) * scale
        scores = b.select(causal, scores, 0.0)
        b.store(b.view(p.o, (p.t, D), tile=(BT, D)), (i, 0), b.mma(scores, v, b.zeros((BT, D), f32)))
    return Program.of(b.module, -(-T // BT), ["q", "k", "v", "s", "o", T])


def normalised(over_time: bool) -> Program:
    """The normaliser of linear attention: the running sum of keys over time, or by mistake over heads."""
    b = Builder()
    with b.entry("k", q=ptr(f32), k=ptr(f32), o=ptr(f32), t=i32) as p:
        h, _, _ = b.block_id()
        qs, ks = (b.view(w, (H, p.t, D), tile=(1, 1, D)) for w in (p.q, p.k))
        out = b.view(p.o, (H, p.t), tile=(1, 1))
        with b.for_(0, p.t, carry=[b.zeros((1, 1, D), f32)]) as (i, total):
            if over_time:
                new = total + b.load(ks, (h, i, 0))
            else:
                with b.for_(0, h + 1, carry=[b.zeros((1, 1, D), f32)]) as (j, acc):
                    b.continue_(acc + b.load(ks, (j, i, 0)))
                new = b.result
            z = b.sum(b.load(qs, (h, i, 0)) * new, dim=2)
            b.store(out, (h, i), z)
            b.continue_(new)
    return Program.of(b.module, H, ["q", "k", "o", T])


CHANNELS, GROUP, PADDED = 9, 3, 4


def group_norm(masked: bool) -> Program:
    """Groups of 3 channels in tiles of 4: the fourth belongs to the next group."""
    b = Builder()
    with b.entry("k", x=ptr(f32), y=ptr(f32), c=i32) as p:
        g, _, _ = b.block_id()
        lane = b.iota(PADDED)
        at = lane + g * GROUP
        keep = (at < p.c) & (lane < GROUP) if masked else at < p.c
        x = b.load_ptr(p.x + at, mask=keep, other=0)
        mean = b.reshape(b.sum(x, dim=0), 1) / float(GROUP)
        d = b.select(keep, x - b.broadcast(mean, PADDED), 0.0)
        var = b.reshape(b.sum(d * d, dim=0), 1) / float(GROUP)
        b.store_ptr(p.y + at, d * b.broadcast(b.rsqrt(var + 1e-5), PADDED), mask=keep)
    return Program.of(b.module, CHANNELS // GROUP, ["x", "y", CHANNELS])


MISTAKES = [
    Mistake(
        "linkedin/Liger-Kernel #518",
        "layer norm: padded columns, which are zero, become -mean and enter the variance",
        rows.layer_norm,
        lambda: rows.layer_norm(f=frozenset(["no_mask"])),
        {"x": (6, 100), "g": (100,), "h": (100,)},
        {"y": (6, 100)},
    ),
    Mistake(
        "fla-org/flash-linear-attention #1142",
        "a gather is masked by causality only, and rows past the end of the sequence read outside the array",
        lambda: tail_rows(True),
        lambda: tail_rows(False),
        {"q": (T, D), "k": (T, D), "v": (T, D), "s": (T,)},
        {"o": (T, D)},
    ),
    Mistake(
        "fla-org/flash-linear-attention #850",
        "the running sum of a normaliser goes over heads instead of time",
        lambda: normalised(True),
        lambda: normalised(False),
        {"q": (H, T, D), "k": (H, T, D)},
        {"o": (H, T)},
    ),
    Mistake(
        "flagos-ai/FlagGems #4985",
        "group norm: padding lanes of a group are channels of the next one, which are read and written too",
        lambda: group_norm(True),
        lambda: group_norm(False),
        {"x": (CHANNELS,)},
        {"y": (CHANNELS,)},
    ),
]


def compare_all() -> list[dict[str, Any]]:
    """Return what is said of each mistake."""
    made = []
    for mistake in MISTAKES:
        verdict = mistake.compare()
        same = reals(mistake.right(), mistake.right(), mistake.inputs, mistake.outs, probe=False)
        facts: dict[str, Any] = {
            "source": mistake.source,
            "what": mistake.what,
            "answer": verdict.answer,
            "right": same.answer,
        }
        w = verdict.witness
        if w is not None:
            facts["witness"] = f"{w.output}[{', '.join(map(str, w.element))}]: {w.values[0]} and {w.values[1]}"
            facts["how"] = _without_addresses(w.how)
        facts["notes"] = [_without_addresses(note) for note in verdict.notes]
        made.append(facts)
    return made


def _without_addresses(text: str) -> str:
    """Leave out addresses, which differ from run to run."""
    import re

    return re.sub(r"0x[0-9a-f]+", "0x...", text)

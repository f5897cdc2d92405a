"""Find the arrays that a kernel writes through views, so that memory between the elements of an array stays as it is.

Native code checks ranges. That is not enough for a segment of which some bytes may not be written: an array with gaps,
or one that a read-only array overlaps. The reference engine, which checks every byte, runs such a launch, unless all
that the kernel writes there are elements of an array in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.effects import memory_ordering
from ...ir import Op, Value, walk
from ...ops import Assume, Constant, Entry, MakeTensorView
from ...types import DYNAMIC, TensorView, Tile
from ..common.addresses import runs_of
from ..common.memory import Segment
from ..common.tiles import dense_array

Written = tuple[int, int, list[Any], list[Any]]
"""A tensor that is written: the parameter that it starts at, the bytes of an element, its shape and strides. Numbers
that are arguments are lists of one number, that of the parameter."""


def written_tensors(entry: Entry) -> list[Written] | None:
    """List the tensors that a kernel writes through views; None if it may write in another way."""
    params = {v: n for n, v in enumerate(entry.body.args)}
    found = []
    for o in walk(entry):
        if memory_ordering(o) is None or o.name.startswith("load"):
            continue
        made = _tensor(o)
        if made is None or any(getattr(o, "inbounds", ())):
            return None
        tensor, base = made.result.type, _origin(made.base)
        assert isinstance(tensor, TensorView)
        sizes = [_number(v, params) for v in (*made.dynamicShape, *made.dynamicStrides)]
        if base not in params or None in sizes or tensor.element.bits < 8:
            return None
        given = iter(sizes)
        shape, strides = ([next(given) if n == DYNAMIC else n for n in part] for part in (tensor.shape, tensor.strides))
        found.append((params[base], tensor.element.bits // 8, shape, strides))
    return found


def _tensor(o: Op) -> MakeTensorView | None:
    """The operation that made the tensor whose view an operation writes."""
    view = getattr(o, "view", None)
    made = view.owner if isinstance(view, Value) else None
    source = getattr(made, "tensor_view", None)
    owner = source.owner if isinstance(source, Value) else None
    return owner if isinstance(owner, MakeTensorView) else None


def _origin(v: Value) -> Value:
    while isinstance(v.owner, Assume):
        v = v.owner.value
    return v


def _number(v: Value, params: dict[Value, int]) -> Any:
    v = _origin(v)
    if isinstance(v.owner, Constant) and isinstance(v.type, Tile) and v.type.size == 1:
        return int(dense_array(v.owner.value).reshape(-1)[0])
    return [params[v]] if v in params else None


def keeps_gaps(written: list[Written] | None, words: Sequence[int], segments: Sequence[Segment]) -> bool:
    """Tell whether a launch with these words for arguments writes nothing but elements of arrays."""
    if not any(s.parts for s in segments):
        return True
    return written is not None and all(_fits(each, words, segments) for each in written)


def _fits(written: Written, words: Sequence[int], segments: Sequence[Segment]) -> bool:
    """Tell whether a tensor lies in a segment without gaps, or is the only array of one with gaps."""
    param, item, *extents = written
    start = words[param]
    shape, strides = ([words[n[0]] if isinstance(n, list) else n for n in part] for part in extents)
    segment = next((s for s in segments if s.address <= start < s.end), None)
    if segment is None or any(n >> 40 for n in (*shape, *strides)):
        return False
    if not segment.parts:
        end = start + sum((n - 1) * stride for n, stride in zip(shape, strides) if n) * item + item
        return end <= segment.end
    if len(segment.parts) != 1:
        return False
    (part,) = segment.parts
    runs = runs_of(tuple(shape), tuple(n * item for n in strides), item)
    return part.writable and part.address == start and runs is not None and runs == part.runs

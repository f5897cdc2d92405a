"""CUDA graphs: torch's operations and kernel launches are recorded during a capture, and done again by a replay.

As on a GPU, nothing that is recorded takes effect before the first replay. Results of operations are memory that
belongs to the graph; each replay writes them again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..device import STATE, Step
from .placement import LOCAL, MARK, place, storage_of, tensors_in
from .torch_cuda import Stream

ASKS = (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default)
"""Operations whose results the program waits for."""


class GraphRecorder(TorchDispatchMode):  # type: ignore[misc]  # torch has no types here
    """Records the operations on the GPU's tensors."""

    def __init__(self, steps: list[Step]) -> None:
        super().__init__()
        self.steps = steps

    def __torch_dispatch__(self, function: Any, types: Any, values: Any = (), options: Any = None) -> Any:
        options = options or {}
        given = [*tensors_in(values), *tensors_in(options)]
        if not (getattr(LOCAL, "gpu", False) or any(getattr(storage_of(t), MARK, False) for t in given)):
            return function(*values, **options)
        if function in ASKS:
            raise RuntimeError(f"{function}: operation not permitted when stream is capturing: it waits for a result")
        saved = [(tensor, tensor.clone()) for tensor in written(function, values, options)]
        result = function(*values, **options)
        for tensor, content in saved:
            tensor.copy_(content)
        known = {id(storage_of(tensor)) for tensor in given}
        fresh = [(n, t) for n, t in enumerate(tensors_in(result)) if id(storage_of(t)) not in known]
        for _, tensor in fresh:
            place(tensor, True)
        if saved or fresh:
            self.steps.append(lambda: repeat(function, values, options, fresh))
        return result


def written(function: Any, values: Any, options: dict[str, Any]) -> list[Any]:
    """Return the tensors that an operation changes."""
    found: list[Any] = []
    for number, argument in enumerate(function._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = values[number] if number < len(values) else options.get(argument.name)
            found += tensors_in(value)
    return found


def repeat(function: Any, values: Any, options: dict[str, Any], fresh: list[tuple[int, Any]]) -> None:
    """Do an operation again, into the memory of its first results."""
    results = list(tensors_in(function(*values, **options)))
    for number, tensor in fresh:
        tensor.copy_(results[number])


class CUDAGraph:
    """A graph of torch's operations and kernel launches."""

    pools = 0

    def __init__(self, *values: Any, **options: Any) -> None:
        self.steps: list[Step] = []
        self._open = contextlib.ExitStack()

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        if STATE.capture is not None:
            raise RuntimeError("a graph is being captured already")
        self.steps = []
        with patch.object(STATE, "capture", self.steps), GraphRecorder(self.steps):
            yield

    def capture_begin(self, *values: Any, **options: Any) -> None:
        self._open.enter_context(self.recording())

    def capture_end(self) -> None:
        self._open.close()

    def replay(self) -> None:
        with torch.no_grad(), torch._C.DisableTorchFunction():
            for step in self.steps:
                step()

    def reset(self) -> None:
        self.steps = []

    def pool(self) -> tuple[int, int]:
        return pool_handle()

    def enable_debug_mode(self) -> None: ...

    def debug_dump(self, path: str) -> None:
        raise RuntimeError("there is no CUDA graph to write: tilery replays torch's operations")


def pool_handle() -> tuple[int, int]:
    """Name a pool of memory, a number that no other one has."""
    CUDAGraph.pools += 1
    return 0, CUDAGraph.pools


class graph:  # torch's name
    """Capture a graph in a `with` block."""

    def __init__(self, cuda_graph: CUDAGraph, pool: object = None, stream: Stream | None = None, **more: Any) -> None:
        self.graph, self.stream = cuda_graph, stream

    def __enter__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(self.stream or Stream())
        self._stack.enter_context(self.graph.recording())

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


def is_capturing() -> bool:
    return STATE.capture is not None


GRAPH_FUNCTIONS = {
    "CUDAGraph": CUDAGraph,
    "graph": graph,
    "graph_pool_handle": pool_handle,
    "is_current_stream_capturing": is_capturing,
}
"""The part of `torch.cuda` that concerns graphs."""

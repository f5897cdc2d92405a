"""Graphs of `cuda.core`: a builder records what happens in its stream, and a graph does it again, in the same order.

As on a GPU, nothing that is recorded takes effect before the graph is launched. Other streams go on working.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from ..device import STATE, Step


def handle_of(stream: Any) -> int:
    """Return the number of a stream, of a builder, or of no stream."""
    return int(stream.__cuda_stream__()[1]) if hasattr(stream, "__cuda_stream__") else int(stream or 0)


@dataclass
class GraphCompleteOptions:
    """How a graph is made executable; nothing here depends on it but whether kernels may launch the graph."""

    auto_free_on_launch: bool = False
    upload_stream: Any = None
    device_launch: bool = False
    use_node_priority: bool = False


class GraphBuilder:
    """A graph that is being recorded from a stream."""

    def __init__(self, stream: Any, primary: GraphBuilder | None = None) -> None:
        self._stream = stream
        self._primary = primary
        self._forks: list[GraphBuilder] = []
        self._steps: list[Step] = [] if primary is None else primary._steps
        self._ended = False
        if primary is not None:
            STATE.captures[stream.handle] = self._steps

    @property
    def stream(self) -> Any:
        """The stream that is recorded."""
        return self._stream

    @property
    def is_join_required(self) -> bool:
        return self._primary is not None

    @property
    def is_building(self) -> bool:
        return self._open().handle in STATE.captures

    def _open(self) -> Any:
        """Return the stream of a builder that is not closed."""
        if self._stream is None:
            raise RuntimeError("the graph builder is closed")
        return self._stream

    def _finished(self) -> list[Step]:
        """Return the steps of a builder that has finished."""
        self._open()
        if not self._ended:
            raise RuntimeError("the graph has not finished building")
        return self._steps

    def __cuda_stream__(self) -> tuple[int, int]:
        version, handle = self._open().__cuda_stream__()
        return version, handle

    def begin_building(self, mode: str = "relaxed") -> GraphBuilder:
        """Record from now on what happens in the stream."""
        if mode not in ("global", "thread_local", "relaxed"):
            raise ValueError(f"unsupported build mode: {mode}")
        if self.is_building:
            raise RuntimeError("the graph builder is already building")
        if self._ended:
            raise RuntimeError("a graph builder cannot resume after building has ended")
        if not self._stream.handle:
            raise RuntimeError("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: the default stream cannot be captured")
        STATE.captures[self._stream.handle] = self._steps
        return self

    def end_building(self) -> GraphBuilder:
        """Stop recording."""
        if not self.is_building:
            raise RuntimeError("the graph builder is not building")
        if self._primary is not None or any(fork._stream for fork in self._forks):
            raise RuntimeError("a graph builder that was split must be joined before building ends")
        del STATE.captures[self._stream.handle]
        self._ended = True
        return self

    def complete(self, options: GraphCompleteOptions | None = None) -> Graph:
        """Return the graph."""
        if options is not None and options.device_launch:
            raise NotImplementedError("tilery runs graphs on the host: kernels cannot launch them")
        return Graph(self._finished())

    def split(self, count: int) -> tuple[GraphBuilder, ...]:
        """Return this builder and others that may go on at the same time; here their steps stay in program order."""
        if count < 2:
            raise ValueError(f"invalid split count: expected at least 2, got {count}")
        if not self.is_building:
            raise RuntimeError("a graph builder must be building before it can be split")
        primary = self._primary or self
        made = [GraphBuilder(self._stream.device.create_stream(), primary) for _ in range(count - 1)]
        primary._forks += made
        return (self, *made)

    @staticmethod
    def join(*builders: GraphBuilder) -> GraphBuilder:
        """Close all builders but one, which goes on after them."""
        if any(not isinstance(builder, GraphBuilder) for builder in builders):
            raise TypeError("all arguments must be graph builders")
        if len(builders) < 2:
            raise ValueError("at least two graph builders can be joined")
        root = next((builder for builder in builders if not builder.is_join_required), builders[0])
        for builder in builders:
            if builder is not root:
                builder.close()
        return root

    def embed(self, child: GraphBuilder) -> None:
        """Add the steps of a finished builder."""
        if not self.is_building:
            raise ValueError("the parent graph is not being built")
        self._steps += child._finished()

    add_child = embed

    def callback(self, function: Any, *, user_data: Any = None) -> None:
        """Call a function in each launch of the graph."""
        if not self.is_building:
            raise RuntimeError("a callback cannot be added when the graph is not being built")
        if hasattr(function, "restype"):  # a function pointer of ctypes
            kept = user_data if user_data is None or isinstance(user_data, int) else bytes(user_data)
            STATE.submit(self._stream.handle, lambda: function(kept))
            return
        if user_data is not None:
            raise ValueError("user_data is only for function pointers of ctypes")
        STATE.submit(self._stream.handle, lambda: function())

    def close(self) -> None:
        """Forget the builder; a graph that it has returned stays."""
        if self._stream is not None:
            STATE.captures.pop(self._stream.handle, None)
        self._stream = None

    def _conditional(self, *values: Any, **options: Any) -> NoReturn:
        raise NotImplementedError("conditions of graphs are set by kernels in CUDA C++; tilery runs Tile IR")

    create_condition = if_then = if_else = switch = while_loop = _conditional

    def debug_dot_print(self, path: str, options: object = None) -> NoReturn:
        raise NotImplementedError("there is no CUDA graph to print: tilery keeps a list of what to do again")


class Graph:
    """A recorded graph."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps: list[Step] | None = list(steps)
        self.handle = STATE.handle()

    def _live(self) -> list[Step]:
        if self._steps is None:
            raise RuntimeError("the graph is closed")
        return self._steps

    def launch(self, stream: Any) -> None:
        """Do again what was recorded; in a stream that is being recorded itself, add it to that graph."""
        handle = handle_of(stream)
        for step in self._live():
            STATE.submit(handle, step)

    def upload(self, stream: Any) -> None:
        """Check that the graph can be launched; there is nowhere to upload it to."""
        self._live()

    def update(self, source: GraphBuilder) -> None:
        """Do from now on what another builder has recorded, which must have as many steps."""
        new = source._finished()
        if len(new) != len(self._live()):
            raise RuntimeError(f"the graphs differ: {len(self._live())} steps, and {len(new)} in the builder")
        self._steps = list(new)

    def close(self) -> None:
        self._steps = None

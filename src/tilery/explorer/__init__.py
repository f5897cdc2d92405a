"""The explorer: a kernel as text, bytes, passes, a graph, a run and its cost, linked by the ids of operations.

    requests      checked access to the fields of a request
    units         offsets as Python and as JavaScript count them
    documents     texts and the modules in them, kept from one request to the next
    operations    the table of operations: ids, spans, source lines; errors
    editing       hover, completion and formatting, by the language server's functions
    annotated     bytecode with the meaning of each byte
    pipeline      passes step by step, as aligned differences
    graph         the operations of a function and the values between them
    costs         bytes, float operations, rooflines, and remarks of tileiras
    launching     runs in a child process: arguments, results, accesses, values, tokens
    frontends     cuTile, Triton and C++, compiled in a child process
    protocol      `Explorer.answer`: from a request to a response, both JSON
    assets        the files of the page
    server        the page over HTTP on the loopback interface
    export        one HTML file that needs no server
    playground    a folder of static files in which tilery runs in the browser

An operation's id is its position in `ir.walk(module)`: the module itself is 0. Every response uses these ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol import Explorer

__all__ = ["Explorer"]


def __getattr__(name: str) -> Any:
    if name == "Explorer":
        from .protocol import Explorer

        return Explorer
    raise AttributeError(f"module 'tilery.explorer' has no attribute {name!r}")

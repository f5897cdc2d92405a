"""`tilery dap`: debug kernels in an editor."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ...options import Verbs

if TYPE_CHECKING:
    from ....debug.programs import Front


def add(verbs: Verbs) -> None:
    sub = verbs.add("dap", run, ["dap"])
    sub.add_argument("--stdio", action="store_true", help="talk over stdin and stdout (default)")


def run(args: argparse.Namespace) -> int:
    """Run the debug adapter for kernels, which editors start by themselves."""
    from ....debug.dap.server import serve

    serve(start)
    return 0


def start(given: dict[str, Any], front: Front) -> None:
    """Run the program that an editor wants to debug."""
    from ....diag import TileError
    from ...debugging import debug_program, from_editor
    from ...files import CommandFailed

    try:
        debug_program(from_editor(given), front)
    except CommandFailed as stop:
        raise TileError(str(stop)) from None

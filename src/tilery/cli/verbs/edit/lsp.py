"""`tilery lsp`: serve editors."""

from __future__ import annotations

import argparse
import os
import sys

from ....checking import TYPE_CHECKING
from ....diag import TileError
from ...files import CommandFailed
from ...options import Verbs, add_spelling

if TYPE_CHECKING:
    from ....text.parse.state import Extensions


def add(verbs: Verbs) -> None:
    sub = verbs.add("lsp", run, ["lsp", "lsp --tcp 127.0.0.1:2087"])
    sub.add_argument("--stdio", action="store_true", help="talk over stdin and stdout (default)")
    sub.add_argument("--tcp", metavar="HOST:PORT", help="listen on a port instead, for one editor")
    add_spelling(sub)


def _syntax(args: argparse.Namespace) -> Extensions | None:
    if args.input != "documented":
        return None
    from ....documented.parsing import documented_syntax

    return documented_syntax()


def run(args: argparse.Namespace) -> int:
    """Run the language server for Tile IR, which editors start by themselves."""
    try:
        from ....lsp.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs", "attr"):
            raise
        raise CommandFailed("the language server needs pygls; install it with: pip install 'tilery[lsp]'") from None
    server = make_server(_syntax(args))
    if args.tcp:
        host, _, port = args.tcp.rpartition(":")
        if not port.isdecimal():
            raise TileError(f"expected HOST:PORT, got '{args.tcp}'")
        server.start_tcp(host or "127.0.0.1", int(port))
    else:
        server.start_io()
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # the server has closed the stream
    return 0

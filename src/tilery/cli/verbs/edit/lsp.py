"""`tilery lsp`: serve editors."""

from __future__ import annotations

import argparse
import os
import sys

from ....diag import TileError
from ...files import Stop
from ...options import Verbs


def add(verbs: Verbs) -> None:
    sub = verbs.add("lsp", run, ["lsp", "lsp --tcp 127.0.0.1:2087"])
    sub.add_argument("--stdio", action="store_true", help="talk over stdin and stdout (default)")
    sub.add_argument("--tcp", metavar="HOST:PORT", help="listen on a port instead, for one editor")


def run(args: argparse.Namespace) -> int:
    """Run the language server for Tile IR, which editors start by themselves."""
    try:
        from ....lsp.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs", "attr"):
            raise
        raise Stop("the language server needs pygls; install it with: pip install 'tilery[lsp]'") from None
    server = make_server()
    if args.tcp:
        host, _, port = args.tcp.rpartition(":")
        if not port.isdecimal():
            raise TileError(f"expected HOST:PORT, got '{args.tcp}'")
        server.start_tcp(host or "127.0.0.1", int(port))
    else:
        server.start_io()
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # the server has closed the stream
    return 0

"""`tilery explore`: see kernels in a browser."""

from __future__ import annotations

import argparse
import sys

from ....checking import TYPE_CHECKING
from ...files import CommandFailed, read_input, reason, shown_name, write_output
from ...options import Verbs

if TYPE_CHECKING:
    from ....explorer.protocol import Explorer, File

EXAMPLES = [
    "explore kernel.mlir",
    "explore gemm.py other.tileirbc --port 8000 --no-browser",
    "explore kernel.tileirbc --export kernel.html",
    "explore --playground site --pyodide node_modules/pyodide",
]


def add(verbs: Verbs) -> None:
    sub = verbs.add("explore", run, EXAMPLES)
    kinds = "bytecode, text, or a source in cuTile (.py) or C++ (.cu); without one, examples are offered"
    sub.add_argument("files", metavar="FILE", nargs="*", help=kinds)
    sub.add_argument("--port", type=int, default=0, metavar="N", help="the port; default: any that is free")
    sub.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    sub.add_argument("--export", metavar="OUT", help="write one HTML file that shows FILE without a server, and exit")
    sub.add_argument("--playground", metavar="DIR", help="write a folder of static files that run tilery by Pyodide")
    sub.add_argument("--pyodide", metavar="DIR", help="for --playground: the folder of the npm package `pyodide`")
    sub.add_argument(
        "--passes", default="canonicalize,cse", metavar="PASSES", help="for --export; default: %(default)s"
    )
    sub.add_argument("--gpu", default="B200", metavar="NAME", help="for --export: the GPU of the roofline")


def run(args: argparse.Namespace) -> int:
    """Show kernels in a browser: text, bytes, passes, graph, runs and cost, linked to each other."""
    from ....explorer.launching.child import JobRunner
    from ....explorer.protocol import Explorer, File

    files = [File(shown_name(name), read_input(name)) for name in args.files]
    explorer = Explorer(files, JobRunner())
    if args.playground is not None:
        return playground(args)
    if args.export is not None:
        return export(explorer, files, args)
    return serve(explorer, args)


def export(explorer: Explorer, files: list[File], args: argparse.Namespace) -> int:
    """Write the page of one file."""
    from ....diag import TileError

    if len(files) != 1:
        raise CommandFailed("--export needs one FILE")
    opened = explorer.answer({"do": "open", "file": 0})
    if opened["ok"] and opened["text"] is None:
        raise CommandFailed(
            "--export needs bytecode or text; export a source from the page, after it has been compiled"
        )
    made = opened
    if opened["ok"]:
        choices = {"passes": args.passes, "gpu": args.gpu, "sources": opened["sources"]}
        made = explorer.answer(
            {"do": "export", "text": opened["text"], "origin": opened["origin"], "name": opened["name"], **choices}
        )
    if not made["ok"]:
        raise TileError(made["error"]["message"], file=files[0].name, notes=tuple(made["error"]["notes"]))
    write_output(args.export, made["html"])
    return 0


def playground(args: argparse.Namespace) -> int:
    """Write the playground."""
    from pathlib import Path

    from ....explorer.playground import write_playground

    if args.pyodide is None:
        raise CommandFailed("--playground needs --pyodide; `npm install pyodide` makes node_modules/pyodide")
    try:
        sizes = write_playground(Path(args.playground), Path(args.pyodide))
    except OSError as error:
        raise CommandFailed(f"cannot write '{args.playground}': {reason(error)}") from None
    write_output("-", f"{len(sizes)} files, {sum(sizes.values()):,} bytes\n")
    return 0


def serve(explorer: Explorer, args: argparse.Namespace) -> int:
    """Serve the page until the user interrupts."""
    from ....explorer.server import Server

    if not 0 <= args.port < 1 << 16:
        raise CommandFailed(f"--port: expected a number from 0 to 65535, got {args.port}")
    try:
        server = Server(explorer, args.port)
    except OSError as error:
        raise CommandFailed(f"cannot listen on port {args.port}: {reason(error)}") from None
    write_output("-", f"the explorer is at {server.url}\nthe address works once; Ctrl+C ends it\n")
    sys.stdout.flush()
    if not args.no_browser:
        import webbrowser

        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        explorer.answer({"do": "stop"})
        server.server_close()
    return 0

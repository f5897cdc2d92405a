"""`tilery help`: the help of the command or of a verb, its manual page, and completion for shells."""

from __future__ import annotations

import argparse

from ..files import CommandFailed, write_output
from ..options import Verbs, subparsers

COMPLETION = "help --completion bash > ~/.local/share/bash-completion/completions/tilery"


def add(verbs: Verbs) -> None:
    sub = verbs.add("help", run, ["help", "help dis", "help cutile run", "help --man > tilery.1", COMPLETION])
    sub.add_argument("words", metavar="VERB", nargs="*", help="a verb; default: list all")
    shells = ["bash", "zsh", "fish"]
    sub.add_argument("--completion", choices=shells, help="print a script that completes the command in a shell")
    sub.add_argument("--man", action="store_true", help="print the manual page of the command")


def run(args: argparse.Namespace) -> int:
    """Show the help of the command or of a verb."""
    from ...diag import did_you_mean
    from ..main import make_parser

    if args.man:
        from ..manpage import manpage

        write_output("-", manpage(make_parser()))
        return 0
    if args.completion is not None:
        from ..completions import SCRIPTS

        write_output("-", SCRIPTS[args.completion](make_parser()))
        return 0
    parser = make_parser(args.words[0] if args.words else None)
    for word in args.words:
        known = subparsers(parser)
        if word not in known:
            raise CommandFailed(f"there is no verb '{word}'{did_you_mean(word, known) or '; `tilery help` lists all'}")
        parser = known[word]
    write_output("-", parser.format_help())
    return 0

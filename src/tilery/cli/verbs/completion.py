"""`tilery completion`: a script with which a shell completes verbs, options and their values."""

from __future__ import annotations

import argparse

from ..files import write_output
from ..options import Verbs

EXAMPLES = [
    "completion bash > ~/.local/share/bash-completion/completions/tilery",
    "completion zsh > ~/.zfunc/_tilery",
    "completion fish > ~/.config/fish/completions/tilery.fish",
]


def add(verbs: Verbs) -> None:
    sub = verbs.add("completion", run, EXAMPLES)
    sub.add_argument("shell", metavar="SHELL", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Print a script that completes the command in a shell."""
    from ..completions import SCRIPTS
    from ..main import make_parser

    write_output("-", SCRIPTS[args.shell](make_parser()))
    return 0

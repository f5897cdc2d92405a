"""The manual page of the command, made from its parser."""

from __future__ import annotations

import argparse

from .options import subparsers

STATUS = (
    ("0", "success"),
    ("1", "the input is wrong, differs, or is not formatted; or a kernel failed"),
    ("2", "the command line is wrong, or a file cannot be read or written"),
    ("70", "a bug in tilery"),
    ("130", "interrupted"),
)


def manpage(parser: argparse.ArgumentParser) -> str:
    """Return the manual page in roff."""
    lines = [
        ".TH TILERY 1",
        ".SH NAME",
        r"tilery \- read, write, check, optimise and run CUDA Tile IR",
        ".SH SYNOPSIS",
        r".B tilery",
        r"\fIVERB\fR [\fIOPTION\fR]... [\fIFILE\fR]...",
        ".SH DESCRIPTION",
        _escape(str(parser.description)),
        r"A file is bytecode or text, and \- is stdin or stdout.",
        ".SH VERBS",
    ]
    lines += _verbs(parser, "tilery")
    lines.append(".SH EXIT STATUS")
    for number, meaning in STATUS:
        lines += [".TP", f".B {number}", _escape(meaning)]
    lines += [
        ".SH ENVIRONMENT",
        ".TP",
        ".B NO_COLOR",
        "If it is set, there are no colours unless --color asks for them.",
    ]
    return "\n".join(lines) + "\n"


def _verbs(parser: argparse.ArgumentParser, path: str) -> list[str]:
    lines: list[str] = []
    for name, inner in subparsers(parser).items():
        if subparsers(inner):
            lines += _verbs(inner, f"{path} {name}")
            continue
        usage = " ".join(inner.format_usage().split()).removeprefix("usage: ")
        lines += [f".SS {path} {name}", _escape(str(inner.description)), ".PP", _escape(usage)]
        for action in inner._actions:
            if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
                continue
            flags = ", ".join(action.option_strings)
            metavar = "" if action.nargs == 0 else str(action.metavar or "")
            if not metavar and action.choices and action.nargs != 0:
                metavar = "{" + ",".join(map(str, action.choices)) + "}"
            what = str(action.help or "") % {**vars(action), "prog": inner.prog}
            lines += [".TP", f".B {_escape(' '.join(filter(None, [flags, metavar])))}", _escape(what)]
        if inner.epilog:
            lines += [".PP", ".nf", *(_escape(line) for line in inner.epilog.splitlines()), ".fi"]
    return lines


def _escape(text: str) -> str:
    r"""Escape what roff interprets.

    >>> _escape("-o OUT")
    '\\-o OUT'
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text

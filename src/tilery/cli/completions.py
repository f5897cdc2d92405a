"""Scripts for shells that complete the command, made from its parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from ..declare.fastclass import dataclass
from .options import subparsers


@dataclass(slots=True)
class Verb:
    """Completions after a verb: options with their help and, if they are fixed, values; and the values of arguments."""

    words: tuple[str, ...]
    help: str
    options: list[tuple[tuple[str, ...], str, tuple[str, ...]]]
    values: list[str]


def verbs_of(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[Verb]:
    """Yield every verb of a parser, also those inside others."""
    for name, inner in subparsers(parser).items():
        path = (*words, name)
        options, values = [], list(subparsers(inner))
        for action in inner._actions:
            choices = tuple(map(str, action.choices or ()))
            if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
                continue
            if action.option_strings:
                options.append((tuple(action.option_strings), _plain(action.help), choices))
            else:
                values += choices
        yield Verb(path, _plain(inner.description), options, values)
        yield from verbs_of(inner, path)


def _plain(text: str | None) -> str:
    """Return the first sentence of a help text, without the characters that shells interpret."""
    words = (text or "").partition("; default")[0].partition(". ")[0].rstrip(".")
    return "".join(c for c in words if c not in "'\"`$\\[]:%")


def bash(parser: argparse.ArgumentParser) -> str:
    """Return the script for bash."""
    cases, values = [], []
    for verb in verbs_of(parser):
        flags = [flag for names, _, _ in verb.options for flag in names]
        cases.append(f"    '{' '.join(verb.words)}') words='{' '.join([*verb.values, *flags])}' ;;")
        values += [
            f"    '{' '.join(verb.words)} {flag}') words='{' '.join(choices)}' ;;"
            for names, _, choices in verb.options
            for flag in names
            if choices
        ]
    top = " ".join([*subparsers(parser), "--help", "--version"])
    groups = "|".join(name for name, inner in subparsers(parser).items() if subparsers(inner))
    return f"""\
# Completion of tilery for bash; made by `tilery help --completion bash`.
_tilery() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} words=
  case "$verb" in {groups}) [ "$COMP_CWORD" -gt 2 ] && verb="$verb ${{COMP_WORDS[2]}}" ;; esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{top}' -- "$current"))
    return
  fi
  case "$verb $before" in
{chr(10).join(values)}
  *) case "$verb" in
{chr(10).join(cases)}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ $current == -* ]] || COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -o filenames -F _tilery tilery
"""


def zsh(parser: argparse.ArgumentParser) -> str:
    """Return the script for zsh."""
    top = [f"    '{name}:{_plain(inner.description)}'" for name, inner in subparsers(parser).items()]
    cases = []
    for verb in verbs_of(parser):
        lines = []
        for names, what, choices in verb.options:
            value = f":value:({' '.join(choices)})" if choices else ""
            lines += [f"      '{name}[{what}]{value}'" for name in names]
        last = f"'*:argument:({' '.join(verb.values)})'" if verb.values else "'*:file:_files'"
        lines.append(f"      {last}")
        body = " \\\n".join(lines)
        cases.append(f"    '{' '.join(verb.words)}') _arguments \\\n{body} ;;")
    groups = "|".join(name for name, inner in subparsers(parser).items() if subparsers(inner))
    return f"""\
#compdef tilery
# Completion of tilery for zsh; made by `tilery help --completion zsh`.
_tilery() {{
  local verb=$words[2]
  local -a verbs=(
{chr(10).join(top)}
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  case $verb in {groups or "''"}) (( CURRENT > 3 )) && verb="$verb $words[3]" ;; esac
  case $verb in
{chr(10).join(cases)}
  esac
}}
_tilery "$@"
"""


def fish(parser: argparse.ArgumentParser) -> str:
    """Return the script for fish."""
    lines = ["# Completion of tilery for fish; made by `tilery help --completion fish`."]
    for name, inner in subparsers(parser).items():
        lines.append(f"complete -c tilery -n __fish_use_subcommand -a {name} -d '{_plain(inner.description)}'")
    for verb in verbs_of(parser):
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in verb.words)
        if verb.values:
            lines.append(f"complete -c tilery -n '{seen}' -a '{' '.join(verb.values)}'")
        for names, what, choices in verb.options:
            flags = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in names)
            value = f" -xa '{' '.join(choices)}'" if choices else ""
            lines.append(f"complete -c tilery -n '{seen}' {flags}{value} -d '{what}'")
    return "\n".join(lines) + "\n"


SCRIPTS: dict[str, Callable[[argparse.ArgumentParser], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

"""The appendix with the status of every claim that the documents make, generated from `docs/claims`.

`python -m tilery.documented.claims` rewrites it; `--check` says whether it is stale.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER = "<!-- Made by `python -m tilery.documented.claims` from docs/claims. Do not edit. -->\n"
PAGE = "appendix/documents.md"
DOCUMENTS = ("reader", "types", "printer", "operations", "folds")
STATUSES = {
    "holds": "the claim is true, and a test fails if that changes",
    "differs": "the tools behave differently; the answer says how, and what tilery offers instead",
    "unobservable": "the claim is about the inside of a binary, a compiler or a driver; no input shows a difference",
}
INTRO = """\
# Where the documents and the tools differ

Five public documents describe CUDA Tile IR from the outside. NVIDIA's tools lack some of what these documents promise,
and do some of it differently. tilery follows the tools. This page lists every claim the documents make, and its status.
It only matters if you have those documents. What exists only there works on request:

| The documents promise | tilery has |
|---|---|
| a record layout | `asm --layout documented`, `dump --documented`; `documented.pack`, `decode_op` and their inverses |
| names of values | `tilery dis --names documented` |
| forms of operations, prefixes, labels | `dis --style documented`; `--input documented` of every verb that reads text |
| keywords that do not exist | read with `--input documented` if they have a meaning; a note has the real keyword |
| rules that no tool has | `tilery check --input documented`, `tilery.documented.verify` |
| cuTe layouts | text attributes with `--input documented`; bytecode refuses them |
| a canonicalizer | `tilery opt --passes documented`, `--log`, `--list patterns`, `{disable-patterns=...}` |
| passes that lean on assumptions | `tilery opt --passes fold-known` |
| functions that are read when they are needed | `tilery.load(lazy=True)` |
| text that reads like the real one | `tilery fmt --input documented` |

tilery never guesses which layout a record has, because the two cannot be told apart. The files that `asm --layout
documented` writes have a magic number of their own, since the documents have no container.

```python
>>> from tilery import Value, documented
>>> from tilery.types import F32, I1, I32, Tile
>>> tile = Tile((8,), I32)
>>> values = [Value(tile) for _ in range(6)]
>>> o = documented.decode_op(bytes.fromhex("03 7f 03 02 04 05 00"), [I1, F32, I32, tile], values)
>>> o.name, o.lhs is values[4], o.rhs is values[5], o.result.type
('addi', True, True, tile<8xi32>)
>>> documented.encode_op(o, [I1, F32, I32, tile], values).hex(" ")
'03 7f 03 02 04 05 00'

```

"""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a document. `tests` are pytest's names, below tests/."""

    id: str
    section: str
    says: str
    status: str
    answer: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A document under a short name, and all its claims."""

    name: str
    title: str
    about: str
    claims: tuple[Claim, ...]


def load_claims(folder: Path) -> list[Document]:
    """Load the documents and their claims from docs/claims."""
    return [_document(name, tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))) for name in DOCUMENTS]


def _document(name: str, data: dict[str, Any]) -> Document:
    claims = tuple(Claim(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in data["claim"])
    return Document(name, data["title"], data["about"], claims)


def problems(claim: Claim) -> list[str]:
    """List what a claim lacks."""
    out = []
    if claim.status not in STATUSES:
        out.append(f"{claim.id} has no status")
    if claim.status == "holds" and not claim.tests:
        out.append(f"{claim.id} holds without a test")
    if claim.status != "holds" and not claim.answer:
        out.append(f"{claim.id} has no answer")
    return out


# ---------------------------------------------------------------- the page


def page(folder: Path) -> str:
    """Return the whole page."""
    documents = load_claims(folder)
    choices = tomllib.loads((folder / "choices.toml").read_text("utf-8"))["choice"]
    return (
        HEADER
        + "\n"
        + INTRO
        + "\n".join([*_summary(documents), *_choices(choices), *_untagged(), *_tables(documents)])
        + "\n"
    )


def _summary(documents: list[Document]) -> Iterator[str]:
    yield from ("## In numbers", "", "| Document | Claims | " + " | ".join(STATUSES) + " |", "|---|---|---|---|---|")
    total: Counter[str] = Counter()
    for document in documents:
        counts = Counter(claim.status for claim in document.claims)
        total += counts
        yield f"| {document.title}: {document.about} | {_row(counts)} |"
    yield f"| all | {_row(total)} |"
    yield ""
    yield from (f"*{status}*: {meaning}." for status, meaning in STATUSES.items())
    yield ""


def _row(counts: Counter[str]) -> str:
    return " | ".join(str(n) for n in [counts.total(), *(counts[status] for status in STATUSES)])


def _choices(choices: list[dict[str, str]]) -> Iterator[str]:
    yield from ("## Choices", "", "What tilery does where a document is silent or contradicts itself:", "")
    yield from ("| About | Choice |", "|---|---|")
    yield from (f"| {_cell(choice['about'])} | {_cell(choice['chosen'])} |" for choice in choices)
    yield ""


def _untagged() -> Iterator[str]:
    from ..declare.fields import REQUIRED
    from .packing import untagged

    rows: dict[str, tuple[list[str], list[str]]] = {}
    for opdef, f, missing in untagged():
        always, sometimes = rows.setdefault(missing, ([], []))
        (always if f.default is REQUIRED else sometimes).append(f"`{opdef.mnemonic}` {f.name}")
    yield from ("## What has no tag", "")
    yield "`documented.pack` writes an operation of 13.1 with all its tables. The documents have no tag for the"
    yield "attributes below, so it refuses operations that have them: always where the field is required, and otherwise"
    yield "where it is not at its default."
    yield from ("", "| Attribute | Required | Optional |", "|---|---|---|")
    for missing, (always, sometimes) in rows.items():
        yield f"| {missing} | {', '.join(always)} | {', '.join(sometimes)} |"
    yield ""


def _tables(documents: list[Document]) -> Iterator[str]:
    for document in documents:
        yield from (f"## {document.title}", "")
        for section in dict.fromkeys(claim.section for claim in document.claims):
            yield from (
                f"### {section}",
                "",
                "| | The document says | Status | Answer | Tests |",
                "|---|---|---|---|---|",
            )
            for claim in (claim for claim in document.claims if claim.section == section):
                tests = ", ".join(map(_link, claim.tests))
                yield f"| {claim.id} | {_cell(claim.says)} | {claim.status} | {_cell(claim.answer)} | {tests} |"
            yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _link(test: str) -> str:
    file, _, name = test.partition("::")
    function, _, case = name.removeprefix("test_").partition("[")
    shown = f"{function}: {case.removesuffix(']')}" if case else function
    return f"[{shown}](../../tests/{file})"


def main(argv: list[str] | None = None) -> int:
    """Rewrite the page, or with --check say whether it is stale."""
    parser = argparse.ArgumentParser(prog="python -m tilery.documented.claims", description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs"), help="default: docs")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if the page is stale")
    args = parser.parse_args(argv)
    target, made = args.folder / PAGE, page(args.folder / "claims")
    stale = not target.exists() or target.read_text("utf-8") != made
    if args.check:
        if stale:
            sys.stderr.write(f"stale: {target}\n")
        return int(stale)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

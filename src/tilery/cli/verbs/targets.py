"""`tilery targets`: what engines can compile for."""

from __future__ import annotations

import argparse
from typing import Any

from ...diag import TileError
from ..files import write_output
from ..options import Verbs
from ..output import as_json


def add(verbs: Verbs) -> None:
    verbs.add("targets", run, ["targets", "targets --json"], json_result=True)


def run(args: argparse.Namespace) -> int:
    """List the targets that engines can compile for."""
    from ...engines.registry import ENGINES, load_engine

    facts: list[dict[str, Any]] = []
    for row in ENGINES.values():
        try:
            if not row.installed:
                raise row.missing(row.package)
            engine: Any = load_engine(row.name)
            if hasattr(engine, "targets"):
                facts.append({"engine": row.name, "targets": engine.targets()})
        except TileError as error:
            facts.append({"engine": row.name, "targets": {}, "problem": error.message, "notes": list(error.notes)})
    write_output("-", as_json({"engines": facts}) if args.json else "\n".join(map(describe, facts)))
    return 0


def describe(fact: dict[str, Any]) -> str:
    """Return the lines of an engine."""
    lines = [fact["engine"]]
    lines += [f"  not available: {fact['problem']}"] if "problem" in fact else []
    lines += [f"  {note}" for note in fact.get("notes", ())]
    width = max(map(len, fact["targets"]), default=0)
    lines += [f"  {name:<{width}}  {what}" for name, what in fact["targets"].items()]
    return "\n".join(lines) + "\n"

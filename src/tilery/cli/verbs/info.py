"""`tilery info`: the contents of a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..files import open_input, write_output
from ..options import Verbs, add_input
from ..output import as_json, printable

if TYPE_CHECKING:
    from ...ops import Entry, Global, Module


def add(verbs: Verbs) -> None:
    sub = verbs.add("info", run, ["info kernel.tileirbc", "info --json kernel.tileirbc"], json_result=True)
    add_input(sub)


def run(args: argparse.Namespace) -> int:
    """Summarise a file: version, producer, kernels, globals, operations."""
    from ...verifier.explain import read_legal

    source = open_input(args.file)
    facts = info_data(read_legal(source), args.file, len(source.data), source.kind.value)
    write_output("-", as_json(facts) if args.json else info_text(facts))
    return 0


def info_data(module: Module, name: str, size: int, format: str) -> dict[str, Any]:
    """Collect the facts about a file."""
    from collections import Counter

    from ...ir import walk

    counts = Counter(o.name for o in walk(module.body))
    return {
        "file": name,
        "format": format,
        "bytes": size,
        "version": str(module.version) if module.version else None,
        "producer": module.producer,
        "entries": [_entry_data(e) for e in module.entries],
        "globals": [_global_data(g) for g in module.globals],
        "ops": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    }


def _entry_data(entry: Entry) -> dict[str, Any]:
    from ...ir import walk

    return {
        "name": entry.sym_name,
        "params": [t.text for t in entry.function_type.params],
        "ops": sum(1 for _ in walk(entry.body)),
    }


def _global_data(item: Global) -> dict[str, Any]:
    return {
        "name": item.sym_name,
        "type": item.value.type.text,
        "alignment": item.alignment,
        "constant": item.constant,
        "visibility": item.symbol_visibility.text,
    }


def info_text(facts: dict[str, Any]) -> str:
    """Print the facts about a file."""
    version = f" {facts['version']}" if facts["version"] else ""
    lines = [f"{facts['file']}: {facts['format']}{version}, {_count(facts['bytes'], 'byte')}"]
    if facts["producer"] is not None:
        lines.append(f"producer: {printable(facts['producer'])}")
    for entry in facts["entries"]:
        lines.append(f"\nentry @{printable(entry['name'])}, {_count(entry['ops'], 'operation')}")
        lines += [f"  {index:>3}  {param}" for index, param in enumerate(entry["params"])]
    if facts["globals"]:
        lines.append("\nglobals:")
    for item in facts["globals"]:
        extra = ["constant"] if item["constant"] else []
        extra += [f"alignment {item['alignment']}"] if item["alignment"] else []
        extra += [item["visibility"]] if item["visibility"] != "public" else []
        lines.append(f"  @{printable(item['name'])} : {', '.join([item['type'], *extra])}")
    lines.append(f"\noperations: {sum(facts['ops'].values())}")
    width = max(map(len, facts["ops"]), default=0)
    lines += [f"  {name:<{width}}  {count}" for name, count in facts["ops"].items()]
    return "\n".join(lines) + "\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

"""`tilery info`: the contents of a file."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from ..files import is_recorded, open_text, read_input, write_output, write_painted
from ..options import Verbs, add_color, add_spelling
from ..output import as_json, colors, printable, report

if TYPE_CHECKING:
    from ...ops import Entry, Global, Module
    from ...source.embedded import Embedded

WIDTH = 100
"""Longer lists of parameters are a table with several columns."""
MANY = 8
"""How many parameters have a line of their own."""


def add(verbs: Verbs) -> None:
    sub = verbs.add("info", run, ["info kernel.tileirbc", "info --json kernel.tileirbc"], json_result=True)
    sub.add_argument("files", metavar="FILE", nargs="+", help="bytecode, text or a recorded launch")
    add_spelling(sub)
    add_color(sub)


def run(args: argparse.Namespace) -> int:
    """Summarise files: version, kernels, tiles, matrix products, work per tile block, hints, operations."""
    from ...source.input import Input
    from ...verifier.explain import read_legal, require_legal
    from .dis import read_partly

    facts, broken = [], []
    for name in args.files:
        if name != "-" and is_recorded(name):
            facts.append(recorded_data(name))
        elif found := modules_in(name):
            for number, each in enumerate(found, 1):
                place = f"{name}: module {number} of {len(found)}, {each.form} at {each.offset:#x}"
                facts.append(info_data(read_legal(Input(each.data, file=name)), place, each.data, "bytecode"))
        else:
            source = open_text(name, args)
            module, errors = read_partly(source)
            if errors:
                broken += errors
            else:
                require_legal(module, source=source)
            facts.append(info_data(module, name, source.data, source.kind.value))
    for error in broken:
        report(error, args.json)
    if args.json:
        write_output("-", as_json(facts[0] if len(facts) == 1 else facts))
        return int(bool(broken))
    text = "\n".join(map(info_text, facts))
    if colors(args):
        from ..paint import by_line, info_line

        write_painted(text, partial(by_line, info_line))
    else:
        write_output("-", text)
    return int(bool(broken))


def modules_in(name: str) -> list[Embedded]:
    """Return the modules in a file of another format: an ELF object, a fat binary, a dump of a compiler."""
    from ...source.embedded import embedded_modules

    if name == "-":
        return []
    data = read_input(name)
    return [] if data.startswith(b"\x7fTileIR") else embedded_modules(data)


def info_data(module: Module, name: str, data: bytes, format: str) -> dict[str, Any]:
    """Collect the facts about a file."""
    from collections import Counter

    from ...ir import walk
    from ..facts import needs

    counts = Counter(o.name for o in walk(module.body))
    return {
        "file": name,
        "format": format,
        "bytes": len(data),
        "version": written_version(data) or (str(module.version) if module.version else None),
        "producer": module.producer,
        "needs": needs(module),
        "entries": [_entry_data(e) for e in module.entries],
        "globals": [_global_data(g) for g in module.globals],
        "ops": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    }


def written_version(data: bytes) -> str | None:
    """Return the version in the header of bytecode, which may be newer than that of the module it becomes."""
    return f"{data[8]}.{data[9]}" if data.startswith(b"\x7fTileIR") else None


def recorded_data(name: str) -> dict[str, Any]:
    """Collect the facts about a recorded launch and its kernel."""
    from os.path import getsize

    from ... import load
    from ...engines.recorded import LIMIT
    from ..files import in_file
    from ..recorded import launch_data, open_recorded

    with in_file(name):
        launch = open_recorded(name, LIMIT)
        module = load(launch.bytecode)
        return {
            **info_data(module, name, launch.bytecode, "recorded launch of bytecode"),
            "bytes": getsize(name),
            "launch": launch_data(launch, module.entry(launch.entry)),
        }


def _entry_data(entry: Entry) -> dict[str, Any]:
    from ...ir import walk
    from ..facts import entry_facts

    return {
        "name": entry.sym_name,
        "params": [t.text for t in entry.function_type.params],
        "ops": sum(1 for _ in walk(entry.body)),
        **entry_facts(entry),
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
    lines = [f"{printable(facts['file'])}: {facts['format']}{version}, {_count(facts['bytes'], 'byte')}"]
    lines += _launch_lines(facts["launch"]) if "launch" in facts else []
    if facts["producer"] is not None:
        lines.append(f"producer: {printable(facts['producer'])}")
    for needed, names in facts["needs"].items():
        lines.append(f"needs bytecode {needed}: {', '.join(map(printable, names))}")
    for entry in facts["entries"]:
        lines.append(f"\nentry @{printable(entry['name'])}, {_count(entry['ops'], 'operation')}")
        lines += _parameters(entry["params"]) + [f"  {line}" for line in _entry_lines(entry)]
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


def _launch_lines(launch: dict[str, Any]) -> list[str]:
    """Return the grid of a launch and its arguments."""
    arguments = launch["arguments"]
    lines = [f"launch of @{printable(launch['entry'])}, grid {'x'.join(map(str, launch['grid']))}"]
    widths = [max((len(printable(a[key])) for a in arguments), default=0) for key in ("name", "type")]
    for a in arguments:
        shape = "x".join(map(str, a.get("shape", ())))
        value = str(a["value"]) if "value" in a else f"{shape}, {a['bytes']} bytes".removeprefix(", ")
        lines.append(f"  {printable(a['name']):<{widths[0]}}  {a['type']:<{widths[1]}}  {value}")
    return lines


def _parameters(params: list[str]) -> list[str]:
    """Return a line per parameter, or a table with several columns if there are many."""
    cells = [f"{index:>3}  {param}" for index, param in enumerate(params)]
    if len(cells) <= MANY:
        return [f"  {cell}" for cell in cells]
    width = max(map(len, cells)) + 3
    columns = max(1, WIDTH // width)
    rows = -(-len(cells) // columns)
    return [("  " + "".join(f"{cell:<{width}}" for cell in cells[row::rows])).rstrip() for row in range(rows)]


def _entry_lines(entry: dict[str, Any]) -> list[str]:
    """Return what is known about a kernel beyond its parameters."""
    lines = []
    if entry["tiles"]:
        lines.append("tiles: " + ", ".join(f"{name} ({count})" for name, count in entry["tiles"].items()))
    for p in entry["products"]:
        batch = f"{p['batch']} x " if p["batch"] > 1 else ""
        times = f", {p['count']} times" if p["count"] > 1 else ""
        lines.append(f"{p['op']}: {batch}{p['m']}x{p['n']}x{p['k']}, {p['inputs']} to {p['accumulator']}{times}")
    where = {"block": "per tile block", "iteration": "per iteration of loops of unknown length"}
    for kind, found in entry["work"].items():
        amounts = ", ".join(f"{amount:,} {what}" for what, amount in found.items() if amount)
        if amounts:
            lines.append(f"{where[kind]}: {amounts}")
    for name, found in entry["hints"].items():
        lines.append(f"hints for {printable(name)}: " + ", ".join(f"{k} = {printable(v)}" for k, v in found.items()))
    if entry["sources"]:
        lines.append("sources: " + ", ".join(map(printable, entry["sources"])))
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

"""What the command line shows of modules and operations, as plain data and as text."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..ir import difference, walk
from ..version import Version

if TYPE_CHECKING:
    from ..declare.operation import OpDef
    from ..ops import Entry, Global, Module


# ---------------------------------------------------------------- info


def info_data(module: Module, name: str, size: int, format: str) -> dict[str, Any]:
    """What a file holds."""
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
    """The same for people."""
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


def printable(text: str) -> str:
    """A string of a file without what could steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# ---------------------------------------------------------------- diff, fmt


def first_difference(a: Module, b: Module, everything: bool) -> str | None:
    """How two modules differ, or None; by default without what not every format keeps."""
    if not everything:
        for module in (a, b):
            module.producer, module.sym_name = None, ""
            for o in walk(module):
                o.loc = None
    return difference(a, b)


def unified(a: str, b: str, name_a: str, name_b: str) -> str:
    """A unified diff of two texts."""
    lines = difflib.unified_diff(a.splitlines(True), b.splitlines(True), name_a, name_b)
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*+"|(//)')


def comments(data: bytes) -> int:
    """The number of comments in a text.

    >>> comments(b'// one\\nprint "no // comment" // two')
    2
    """
    return len([1 for line in data.splitlines() if any(match[1] for match in _COMMENT.finditer(line))])


# ---------------------------------------------------------------- ops

TITLES = ("operands", "attributes", "results", "regions")


def ops_data(version: Version | None) -> list[dict[str, Any]]:
    """Every operation of a version, or of all versions."""
    from ..manual.describe import describe, groups

    known = [d for opdefs in groups().values() for d in opdefs]
    return [describe(d, version) for d in known if version is None or d.since <= version]


def find_op(name: str, version: Version | None) -> dict[str, Any]:
    """One operation as plain data."""
    from ..manual.describe import describe

    return describe(known_op(name, version), version)


def known_op(name: str, version: Version | None) -> OpDef:
    """One operation, by its mnemonic with or without the dialect's name."""
    from ..declare.operation import BY_NAME
    from ..ops import registered
    from .files import Stop

    registered()
    opdef = BY_NAME.get(name.removeprefix("cuda_tile."))
    if opdef is None or opdef.testing:
        close = difflib.get_close_matches(name, [d.mnemonic for d in registered()], 3)
        hint = f"; did you mean {' or '.join(close)}?" if close else "; `tilery ops` lists all"
        raise Stop(f"there is no operation '{printable(name)}'{hint}")
    if version is not None and opdef.since > version:
        raise Stop(f"'{opdef.mnemonic}' is new in bytecode {opdef.since}, {version} does not have it")
    return opdef


def list_ops(found: list[dict[str, Any]]) -> str:
    """One line per operation, by chapter."""
    lines: list[str] = []
    group = None
    for op in found:
        if op["group"] != group:
            group = op["group"]
            lines += [*([""] if lines else []), group]
        lines.append(f"  {op['name']:<26} {op['since']}  {op['summary']}")
    return "\n".join(lines) + "\n"


def op_text(op: dict[str, Any]) -> str:
    """The reference of one operation."""
    from ..manual.describe import spans

    former = f", formerly {op['formerly']}" if op["formerly"] else ""
    lines = [f"{op['name']}: {op['summary']}"]
    if op["description"]:
        lines += ["", op["description"]]
    lines += ["", f"since {op['since']}, opcode 0x{op['opcode']:02X}, class {op['class']}{former}"]
    width = max((len(f["name"]) for title in TITLES for f in op[title]), default=0)
    for title in TITLES:
        if op[title]:
            lines += ["", title]
            lines += [line for field in op[title] for line in _field_lines(field, op["since"], width)]
    rules = [*op["traits"].values(), *op["constraints"]]
    rules += [f"stands in {', '.join(op['parents'])}"] if op["parents"] else []
    if rules:
        lines += ["", "rules", *(f"  {rule}" for rule in rules)]
    if op["format"]:
        lines += ["", "syntax", f"  {op['name']} {op['format']}"]
    lines += ["", "example", *(f"  {line}" for line in op["example"].splitlines())]
    if layouts := spans(op["layout"]):
        lines += ["", "bytecode", *(f"  {label}: {' | '.join(items)}" for label, items in layouts)]
    return "\n".join(lines) + "\n"


def _field_lines(field: dict[str, Any], since: str, width: int) -> list[str]:
    facts = [field["type"]]
    if "values" in field:
        facts.append("one of " + ", ".join(v["text"] for v in field["values"]))
    if field.get("default"):
        facts.append(f"default: {field['default']}")
    if field["since"] != since:
        facts.append(f"since {field['since']}")
    return [f"  {field['name']:<{width}} {field['doc']}", f"  {'':<{width}} {'; '.join(facts)}"]

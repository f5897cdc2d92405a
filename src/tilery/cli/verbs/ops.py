"""`tilery ops`: the reference of operations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..files import CommandFailed, write_output, write_painted
from ..options import Verbs, add_color, add_version
from ..output import as_json, colors, printable

if TYPE_CHECKING:
    from ...declare.operation import OpDef
    from ...version import Version

TITLES = ("operands", "attributes", "results", "regions")


def add(verbs: Verbs) -> None:
    examples = ["ops", "ops addf", "ops --json load_view_tko", "ops --version 13.1"]
    sub = verbs.add("ops", run, examples, json_result=True)
    sub.add_argument("name", metavar="NAME", nargs="?", help="an operation; default: list all")
    add_version(sub, "only what exists in this bytecode version")
    add_color(sub)


def run(args: argparse.Namespace) -> int:
    """List all operations, or show the reference of one."""
    found = ops_data(args.version) if args.name is None else find_op(args.name, args.version)
    if args.json:
        write_output("-", as_json(found))
        return 0
    text = list_ops(found) if isinstance(found, list) else op_text(found)
    if colors(args):
        from ..paint import ops_text

        write_painted(text, ops_text)
    else:
        write_output("-", text)
    return 0


def ops_data(version: Version | None) -> list[dict[str, Any]]:
    """Describe every operation, or those of one version."""
    from ...manual.describe import describe, groups

    known = [d for opdefs in groups().values() for d in opdefs]
    return [describe(d, version) for d in known if version is None or d.since <= version]


def find_op(name: str, version: Version | None) -> dict[str, Any]:
    """Describe one operation as plain data."""
    from ...manual.describe import describe

    return describe(known_op(name, version), version)


def known_op(name: str, version: Version | None) -> OpDef:
    """Find an operation by its mnemonic, with or without the dialect's name, or by its class."""
    from ...declare.operation import BY_NAME
    from ...ops import registered
    from ...ops.names import similar

    registered()
    opdef = BY_NAME.get(name.removeprefix("cuda_tile."))
    if opdef is None:
        opdef = next((d for d in registered() if d.cls.__name__ == name), None)
    if opdef is None or opdef.testing:
        close = similar(name)
        hint = f"; did you mean {' or '.join(close)}?" if close else "; `tilery ops` lists all"
        raise CommandFailed(f"there is no operation '{printable(name)}'{hint}")
    if version is not None and opdef.since > version:
        raise CommandFailed(f"'{opdef.mnemonic}' is new in bytecode {opdef.since}; {version} does not have it")
    return opdef


def list_ops(found: list[dict[str, Any]]) -> str:
    """List operations by chapter, one per line."""
    lines: list[str] = []
    group = None
    for op in found:
        if op["group"] != group:
            group = op["group"]
            lines += [*([""] if lines else []), group]
        lines.append(f"  {op['name']:<26} {op['since']}  {op['summary']}")
    return "\n".join(lines) + "\n"


def op_text(op: dict[str, Any]) -> str:
    """Print the reference of one operation."""
    from ...manual.describe import spans

    former = f", formerly {op['formerly']}" if op["formerly"] else ""
    lines = [f"{op['name']}: {op['summary']}"]
    if op["description"]:
        lines += ["", op["description"]]
    lines += ["", f"since {op['since']}, opcode 0x{op['opcode']:02X}, class {op['class']}{former}"]
    if op["also"]:
        lines += [f"related names: {', '.join(op['also'])}"]
    width = max((len(f["python"]) for title in TITLES for f in op[title]), default=0)
    for title in TITLES:
        if op[title]:
            lines += ["", title]
            lines += [line for field in op[title] for line in _field_lines(field, op["since"], width)]
    rules = [*op["traits"].values(), *op["constraints"]]
    rules += [f"stands in {', '.join(op['parents'])}"] if op["parents"] else []
    if rules:
        lines += ["", "rules", *(f"  {rule}" for rule in rules)]
    lines += ["", "interfaces", f"  effect: {op['effect']}"]
    lines += [f"  inferred types: {', '.join(op['inferred'])}"] if op["inferred"] else []
    lines += [f"  control flow: {op['control']}"] if op["control"] else []
    for table in op["tables"]:
        lines += ["", table["title"], *columns([table["columns"], *table["rows"]])]
    lines += ["", "syntax", f"  {op['name']} {op['format']}"]
    lines += ["", "example", *(f"  {line}" for line in op["example"].splitlines())]
    if layouts := spans(op["layout"]):
        lines += ["", "bytecode", *(f"  {label}: {' | '.join(items)}" for label, items in layouts)]
    return "\n".join(lines) + "\n"


def columns(rows: list[list[str]]) -> list[str]:
    """Return the lines of a table."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  " + "  ".join(f"{text:<{width}}" for text, width in zip(row, widths)).rstrip() for row in rows]


def _field_lines(field: dict[str, Any], since: str, width: int) -> list[str]:
    facts = [field["type"]]
    if "values" in field:
        facts.append("one of " + ", ".join(v["text"] for v in field["values"]))
    if field.get("default"):
        facts.append(f"default: {field['default']}")
    if field["since"] != since:
        facts.append(f"since {field['since']}")
    return [f"  {field['python']:<{width}} {field['doc']}", f"  {'':<{width}} {'; '.join(facts)}"]

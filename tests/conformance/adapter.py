"""Plain functions for a scorer of NVIDIA's lit cases; they return diagnostics as tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilery.bytecode.reader import read
from tilery.bytecode.writer import write
from tilery.diag import LineIndex, Note, TileError
from tilery.ir import Op, Refused
from tilery.ops import Module
from tilery.passes import parse_pipeline, run_pipeline
from tilery.text.parse.parser import Parsed, parse_with_spans
from tilery.text.print.printer import show
from tilery.verifier.verify import Hints, verify
from tilery.version import SUPPORTED, Version

RENAMED = {
    "only memory-effect-free operations": "only pure operations",
    " or fnv8E5M3FNU": "",
    "'cuda_tile.fpowf'": "'cuda_tile.pow'",
    "[13.1 - 13.4]": "[13.1 - 13.3]",
}

OURS = ("this region is not closed",)
"""Notes with a place that are not NVIDIA's."""

TEST_PASSES = {"test-debuginfo-update-symbol-name": "rename-symbol"}
"""Passes that only NVIDIA's test tool has, and ours that do the same."""

PARSED: dict[Module, Parsed] = {}
"""Where each module came from, for the lines of what passes say."""

Diagnostic = tuple[int | None, str, str]
"""Line, severity and message."""


def diagnostics(error: TileError) -> list[Diagnostic]:
    """An error, and those of its notes that NVIDIA's tools report too."""
    lines = LineIndex(error.source or "")
    notes = [n for n in error.notes if isinstance(n, Note) and n.start is not None and n not in OURS]
    return [
        (error.line, "error", in_13_3(error.message)),
        *((lines.place(n.start or 0)[0], n.heading, in_13_3(n)) for n in notes),
    ]


def in_13_3(message: str) -> str:
    """A message in the words of 13.3, which the cases are from: without what 13.4 added or renamed."""
    for new, old in RENAMED.items():
        message = message.replace(new, old)
    return message


def parse(
    text: str, *, allow_unregistered: bool = False, testing: bool = True, options: tuple[str, ...] = ()
) -> tuple[Module | None, list[Diagnostic]]:
    """Parse and verify."""
    try:
        parsed = parse_with_spans(text, allow_unregistered=allow_unregistered, testing=testing)
        found = verified(parsed, options)
    except TileError as error:
        return None, diagnostics(error)
    if any(severity == "error" for _, severity, _ in found):
        return None, found
    PARSED[parsed.module] = parsed
    return parsed.module, found


def verified(parsed: Parsed, options: tuple[str, ...]) -> list[Diagnostic]:
    """The first thing that the verifier refuses, as MLIR stops there, with the operations that it is about."""
    line = line_of(parsed)
    out: list[Diagnostic] = []
    for finding in verify(parsed.module, hints=hints_mode(options)):
        # Items that stand on their own are in MLIR's module, which takes every operation.
        if not parsed.wrapped and finding.op is parsed.module:
            continue
        severity = "warning" if finding.warning else "error"
        out += [(line(finding.op), severity, text) for text in sentences(in_13_3(finding.message))]
        out += [(line(finding.op), note.heading, note) for note in finding.notes if isinstance(note, Note)]
        out += [(line(o), "note", text) for o, text in finding.related]
        if not finding.warning:
            break
    return out


def line_of(parsed: Parsed) -> Callable[[Op], int | None]:
    lines = LineIndex(parsed.source)
    return lambda o: lines.place(parsed.spans[o][0])[0] if o in parsed.spans else None


def hints_mode(options: tuple[str, ...]) -> Hints:
    if "-Wunsupported-hints" not in options:
        return Hints.IGNORE
    return Hints.ERROR if "-Werr-hints" in options else Hints.WARN


def sentences(message: str) -> list[str]:
    """NVIDIA's tests look for both sentences of a message about debug information; a scorer uses each line once."""
    first, dot, rest = message.rpartition(". ")
    return [message, rest] if dot and "debug info" in first else [message]


def print(module: Module, *, generic: bool = False, debuginfo: bool = False) -> str:
    return show(module, style="generic" if generic else "opt", locs=debuginfo)


def canonicalize(module: Module) -> Module:
    return optimized(module, "canonicalize")


def run_pass(module: Module, pipeline: str) -> tuple[Module | None, list[Diagnostic]]:
    """Run a command-line option of mlir-opt: `-pass-pipeline=...`, or `-NAME=options`."""
    name, _, value = pipeline.lstrip("-").partition("=")
    name = TEST_PASSES.get(name, name)
    try:
        return optimized(module, value if name == "pass-pipeline" else f"{name}{{{value}}}"), []
    except Refused as error:
        return None, refusal(module, error, "note")
    except TileError as error:
        return None, diagnostics(error)


def refusal(module: Module, error: Refused, kind: str) -> list[Diagnostic]:
    """An error about operations, which NVIDIA's tools place in the text that the module came from."""
    line = line_of(PARSED[module])
    related = [(line(o), kind, text) for o, text in error.related]
    return [(line(error.op), "error", error.message), *related]


def optimized(module: Module, pipeline: str) -> Module:
    run_pipeline(module, parse_pipeline(pipeline))
    for finding in verify(module):
        if not finding.warning and finding.op is not module:
            raise TileError(f"after {pipeline}: {finding.op.name}: {finding.message}")
    return module


def write_bytecode(module: Module, version: Any = None) -> tuple[bytes | None, list[Diagnostic]]:
    try:
        return write(module, None if version is None else Version.parse(version)), []
    except Refused as error:
        return None, refusal(module, error, "remark")
    except TileError as error:
        return None, diagnostics(error)


def read_bytecode(data: bytes) -> tuple[Module | None, list[Diagnostic]]:
    try:
        return read(data), []
    except TileError as error:
        return None, diagnostics(error)


def list_versions() -> str:
    return "\n".join(map(str, SUPPORTED))

"""The command as a process of its own, and inputs for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tilery
from support.oracle import ROOT
from tilery import Block, Value
from tilery.attrs import DICompileUnit, DIFile, DILoc, DISubprogram, FileLineCol
from tilery.ops import AddF, Entry, Module, Return
from tilery.types import F32, F64, Function, Tile

ENV = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
TEXT = "entry @k(%a: tile<i32>) {\n  %0 = addi %a, %a : tile<i32>\n  return\n}\n"


def run(*argv: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "tilery", *map(str, argv)]
    return subprocess.run(command, input=stdin, capture_output=True, env=ENV, timeout=60)


def illegal(folder: Path) -> Path:
    """A file with two faults, at a known place in its source."""
    x, y = Value(Tile((), F32)), Value(Tile((), F64))
    faults = [AddF(lhs=x, rhs=y, result=Value(x.type)), AddF(lhs=y, rhs=x, result=Value(x.type))]
    file = DIFile("k.py", "/")
    scope = DISubprogram(file, 1, "k", "k", DICompileUnit(file), 1)
    for line, fault in enumerate(faults, 7):
        fault.loc = DILoc(FileLineCol("k.py", line, 3), scope)
    entry = Entry(sym_name="k", function_type=Function([x.type, y.type]), body=Block([x, y], [*faults, Return()]))
    entry.loc = DILoc(FileLineCol("k.py", 1, 1), scope)
    path = folder / "illegal.tileirbc"
    path.write_bytes(tilery.dumps(Module(body=Block([], [entry])), "13.1", verify=False))
    return path

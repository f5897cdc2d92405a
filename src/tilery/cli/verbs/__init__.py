"""One module per verb: `add` adds its parser, `run` runs it.

Adding a parser imports nothing of the library, so the command starts fast.
"""

from __future__ import annotations

VERBS = {
    "info": "info",
    "dis": "dis",
    "asm": "asm",
    "check": "check",
    "lint": "edit.lint",
    "convert": "convert",
    "dump": "dump",
    "fmt": "edit.fmt",
    "lsp": "edit.lsp",
    "dap": "edit.dap",
    "explore": "edit.explore",
    "diff": "diff",
    "ops": "ops",
    "smith": "smith",
    "prove": "testing.prove",
    "reduce": "testing.reduce",
    "judge": "testing.judge",
    "opt": "opt",
    "debug": "debug",
    "run": "run",
    "compile": "compile",
    "targets": "targets",
    "compare": "compare",
    "tune": "gpu.tune",
    "cache": "cache",
    "cutile": "cutile",
    "triton": "frontends.triton",
    "cpp": "frontends.cpp",
    "remarks": "performance.remarks",
    "cost": "performance.cost",
    "help": "help",
}
"""The verbs in the order in which `tilery --help` lists them, and the module of each in this folder."""

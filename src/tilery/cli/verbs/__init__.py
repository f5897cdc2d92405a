"""One module per verb: `add` adds its parser, `run` runs it.

Adding a parser imports nothing of the library, so the command starts fast.
"""

from __future__ import annotations

VERBS = (
    "info",
    "dis",
    "asm",
    "check",
    "convert",
    "dump",
    "fmt",
    "diff",
    "ops",
    "smith",
    "opt",
    "debug",
    "run",
    "compile",
    "targets",
    "compare",
    "cache",
    "cutile",
    "help",
)
"""The verbs in the order in which `tilery --help` lists them."""

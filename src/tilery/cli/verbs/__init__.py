"""One module per verb: `add` adds its parser, and the function it names there runs it.

Adding a parser imports nothing of the library, so that the command starts fast.
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
    "cutile",
)
"""The verbs in the order in which `tilery --help` lists them."""

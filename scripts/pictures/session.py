"""An animated picture of a real session: docs/pictures/session.svg.

    python scripts/pictures/session.py

The commands run on a pseudo-terminal, and what they print is drawn line by line. It needs cuTile. The program
is that of docs/tour/cutile-without-gpu.md.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from pictures.terminal import BACK, CELL, LINE, MARGIN, spans  # noqa: E402  # found only now

PAGE = ROOT / "docs" / "tour" / "cutile-without-gpu.md"
TARGET = ROOT / "docs" / "pictures" / "session.svg"
COLUMNS = 108
TYPING, READING, PAUSE, END = 0.9, 0.12, 1.6, 6.0
"""Seconds for a command line, for a line that is printed, after a command, and at the end."""
COMMANDS = [
    "sed -n 5,9p total.py",
    "tilery cutile run --sanitize race total.py",
    "sed -n 5,8p fixed.py",
    "tilery cutile run --sanitize race fixed.py",
]


def scripts() -> dict[str, str]:
    """Return the programs of the page."""
    found = re.findall(r"^`(\w+\.py)`:\n\n```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    return dict(found)


def printed(command: str, folder: str) -> str:
    """Return what a command prints on a terminal, with its escape sequences."""
    tools = Path(folder) / "bin"
    tools.mkdir(exist_ok=True)
    tool = tools / "tilery"
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m tilery "$@"\n')
    tool.chmod(0o755)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": path, "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, shell=True, cwd=folder, env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    process.wait()
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def shown(text: str) -> list[str]:
    """Return the lines of a text; long ones continue on the next line, and addresses, which change, are left out."""
    lines = []
    for line in re.sub(r"0x[0-9a-f]{6,}", "0x...", text).rstrip("\n").split("\n"):
        plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
        if len(plain) <= COLUMNS:
            lines.append(line)
        else:
            words, row = line.split(" "), ""
            for word in words:
                if row and len(re.sub(r"\x1b\[[0-9;]*m", "", f"{row} {word}")) > COLUMNS:
                    lines.append(row)
                    row = "    " + word
                else:
                    row = f"{row} {word}" if row else word
            lines.append(row)
    return lines


def draw(session: list[tuple[str, list[str]]]) -> str:
    """Return the picture: each line appears at its time, and everything starts again at the end."""
    timed: list[tuple[float, str]] = []
    at = 0.5
    for command, lines in session:
        timed.append((at, f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m"))
        at += TYPING
        for line in lines:
            timed.append((at, line))
            at += READING
        timed.append((at, ""))
        at += PAUSE
    total = at + END
    height, width = len(timed) * LINE + 2 * MARGIN, COLUMNS * CELL + 2 * MARGIN
    words = "; ".join(command for command, _ in session)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-size="13" role="img" '
        f'aria-label="A session in a terminal: {words.replace("&", "&amp;")}" '
        "font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\">",
        "<style>text{animation:show " + f"{total:.1f}s infinite" + ";opacity:1}"
        "@media (prefers-reduced-motion: reduce){text{animation:none}}",
    ]
    for number, (start, _) in enumerate(timed):
        share = 100 * start / total
        out.append(
            f"@keyframes a{number}{{0%,{share:.2f}%{{opacity:0}}{share + 0.01:.2f}%,100%{{opacity:1}}}}"
            f".a{number}{{animation-name:a{number}}}"
        )
    out += ["</style>", f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="{BACK}"/>']
    for number, (_, line) in enumerate(timed):
        y = MARGIN + (number + 0.75) * LINE
        if line:
            text = spans(line, COLUMNS)
            out.append(f'<text class="a{number}" x="{MARGIN}" y="{y:.1f}" xml:space="preserve">{text}</text>')
    return "\n".join([*out, "</svg>\n"])


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in scripts().items():
            (Path(folder) / name).write_text(text, "utf-8")
        session = [(command, shown(printed(command, folder))) for command in COMMANDS]
    TARGET.write_text(draw(session), "utf-8")
    print(TARGET)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

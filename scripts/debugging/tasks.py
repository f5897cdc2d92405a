"""Find the faults of twenty kernels with the debugger and with prints, and write docs/reports/lab/debugger.md.

    python scripts/debugging/tasks.py [--report docs/reports/lab/debugger.md] [--transcript NAME]

A session is a list of commands; it must lead to an answer that shows the fault. Prints are inserted into the kernel and
the kernel is run again, in as many rounds as a case has. Stepping back is measured on a launch of 100,000 instructions.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / each) for each in ("src", "scripts")]

import tilery  # noqa: E402  # found only now
from debugging.cases import CASES, Case, expand  # noqa: E402
from tilery.debug import Session  # noqa: E402
from tilery.debug.terminal import Terminal  # noqa: E402
from tilery.ir import Block  # noqa: E402
from tilery.observe import Source  # noqa: E402
from tilery.types import Scalar, Tile  # noqa: E402

LONG = """entry @k(%n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %x = constant <f32: 1.0> : tile<64x64xf32>
  %s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %x) -> (tile<64x64xf32>) {
    %a = addf %acc, %x : tile<64x64xf32>
    %b = mulf %a, %x : tile<64x64xf32>
    %c = subf %b, %x : tile<64x64xf32>
    continue %c : tile<64x64xf32>
  }
  return
}
"""


def kernel_of(case: Case) -> Any:
    return tilery.compile(tilery.parse(expand(case.text)))


def debugged(case: Case) -> tuple[bool, list[tuple[str, str]]]:
    """Run the session of a case; return whether it found the fault, and the commands with their answers."""
    args = case.args()
    session = Session(kernel_of(case), case.grid, list(args.values()), names=list(args), sanitize=case.sanitize)
    said: list[str] = []
    terminal, transcript = Terminal(session, said.append), []
    for command in case.session:
        terminal.execute(command)
        transcript.append((command, "".join(said)))
        said.clear()
    return re.search(case.found, transcript[-1][1].strip(), re.MULTILINE) is not None, transcript


def printed(case: Case) -> int:
    """Insert the prints of all rounds, one round after the other, and return how many lines they print."""
    lines = 0
    for values in case.prints:
        module = tilery.parse(expand(case.text))
        source, entry = Source(module), module.entries[0]
        for name in values:
            value = source.find(f"%{name}", entry)[-1]
            element = value.type.element if isinstance(value.type, Tile) else None
            float_ = isinstance(element, Scalar) and element.is_float
            owner = value.owner
            with module.edit() as edit:
                if isinstance(owner, Block):
                    where = edit.before(owner.ops[0])
                else:
                    assert owner is not None
                    where = edit.after(owner)
                with where as b:
                    b.print(f"{name} = {'%f' if float_ else '%d'}\n", value)
        said: list[str] = []
        args = case.args()
        with suppress(tilery.TileError):  # the fault of the kernel
            tilery.compile(module).launch(case.grid, list(args.values()), output=said.append)
        lines += "".join(said).count("\n")
    return lines


def long_launch() -> dict[str, float]:
    """Measure going back in a launch of 100,000 instructions, in seconds of the processor."""
    session = Session(tilery.compile(tilery.parse(LONG)), 1, [20_000])
    found: dict[str, float] = {}

    def timed(name: str, action: Any) -> None:
        start = time.process_time()
        action()
        found[name] = time.process_time() - start

    timed("forward to the end", session.cont)
    found["instructions"] = session.position
    timed("back 1,000 instructions at once", lambda: session.run_to(session.position - 1000))
    assert session.position == found["instructions"] - 1000

    def one_by_one() -> None:
        for _ in range(1000):
            session.step_back()

    timed("back 1,000 times one operation", one_by_one)
    timed("back to the start", lambda: session.run_to(0))
    return found


def page(rows: list[tuple[Case, list[tuple[str, str]], int]], times: dict[str, float]) -> str:
    """Return the report."""
    commands = [len(transcript) for _, transcript, _ in rows]
    rounds = [len(case.prints) for case, _, _ in rows]
    lines = [
        "# Debugging tasks",
        "",
        "`python scripts/debugging/tasks.py` wrote this page. Each row is a kernel with a planted fault. A command is",
        "one line at the debugger, in one run; the last answer shows the fault. A round of prints is an edit of the",
        "kernel and another run; the prints are inserted and run, and their lines counted. Both are chosen by hand:",
        "which commands, and which values to print. The rounds assume that each choice is right the first time.",
        "",
        "| task | what is seen | what is wrong | commands | rounds of prints | printed lines |",
        "|---|---|---|--:|--:|--:|",
    ]
    for case, transcript, count in rows:
        cells = (case.name, case.symptom, case.fault, str(len(transcript)), str(len(case.prints)), f"{count:,}")
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        f"| **all {len(rows)}** | | | **{sum(commands)}** | **{sum(rounds)}** | **{sum(n for *_, n in rows):,}** |",
        "",
        "The sessions:",
        "",
    ]
    for case, transcript, _ in rows:
        lines += [f"{case.name}: " + ", ".join(f"`{command}`" for command, _ in transcript), ""]
    lines += [
        "## Going back",
        "",
        f"A launch of {int(times.pop('instructions')):,} instructions on tiles of 64x64, seconds of the processor:",
        "",
        "| | seconds |",
        "|---|--:|",
        *(f"| {name} | {seconds:.3f} |" for name, seconds in times.items()),
        "",
        "With checks of the sanitizer that remember (`bounds`, `uninit`, `race`, `order`) there are no checkpoints,",
        "and going back executes the launch again from its start.",
        "",
        "## Not measured",
        "",
        "How long a person takes; going back with such checks.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--report", type=Path, help="write the page to this file")
    parser.add_argument("--transcript", metavar="NAME", help="print the session of a task")
    args = parser.parse_args()
    rows, failed = [], []
    with np.errstate(all="ignore"):
        for case in CASES:
            found, transcript = debugged(case)
            if not found:
                failed.append(case.name)
            if args.transcript in (case.name, "all"):
                print(case.name, *(f"> {command}\n{answer}" for command, answer in transcript), sep="\n")
            rows.append((case, transcript, printed(case)))
    if failed:
        print(f"not found: {', '.join(failed)}", file=sys.stderr)
        return 1
    text = page(rows, long_launch())
    if args.report:
        args.report.write_text(text, "utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

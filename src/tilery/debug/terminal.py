"""The debugger at a terminal: a line is a command, its answer is text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..diag import TileError, did_you_mean
from ..observe.numbers import statistics
from .programs import Quit
from .session import Session
from .stops import Stop
from .variables import named

HELP = """\
  b WHERE [block X,Y] [if EXPR]   stop: WHERE is a LINE, FILE:LINE, %value or an operation such as addf
  watch ARRAY[I,J] [if EXPR]      stop when the element is written
  catch nan|report                stop where NaN comes from, at a report of --sanitize; `uncatch` ends it
  info                            list stops; d N deletes one
  c  s [N]  n  i  o  k            go on; N operations; a line; an iteration; out of a region; to the block's end
  rc rs [N] rn ri                 the same, backwards
  goto N                          go to a position
  p EXPR                          evaluate: p max(abs(%acc[0, :4])), p a[17, 3], p block
  x NAME                          a tile with its statistics
  vars [all]  w  l                values, without those of no variable; where it is; the source around it
  blocks  block X[,Y[,Z]]         the tile blocks that run together; look at another one
  who ARRAY[I,J]                  go back to the last write of an element
  reports  q                      what the sanitizer found; quit
"""
AROUND = 4
"""Lines of source before and after the one that is shown."""
WIDTH = 100
DIGITS = 18
"""Digits of a number in a command."""


class Terminal:
    """Executes commands on a session; `write` prints."""

    def __init__(self, session: Session, write: Callable[[str], None]) -> None:
        self.session, self.write = session, write
        self.commands: dict[str, Callable[[str], object]] = {
            "b": self.add_break, "break": self.add_break, "watch": self.add_watch, "catch": self.catch,
            "uncatch": self.uncatch, "info": self.info, "d": self.delete, "delete": self.delete,
            "c": self.go(session.cont), "continue": self.go(session.cont), "s": self.times(session.step),
            "step": self.times(session.step), "n": self.go(session.step_line), "next": self.go(session.step_line),
            "i": self.go(session.step_iteration), "o": self.go(session.step_out), "k": self.go(session.step_block),
            "rc": self.go(session.reverse), "rs": self.times(session.step_back), "rn": self.go(session.line_back),
            "ri": self.go(session.iteration_back), "goto": self.goto, "p": self.print, "print": self.print,
            "x": self.examine, "vars": self.vars, "w": self.where, "where": self.where, "l": self.list,
            "list": self.list, "blocks": self.blocks, "block": self.block, "who": self.who, "reports": self.reports,
            "q": self.quit, "quit": self.quit, "h": self.help, "help": self.help, "?": self.help,
        }  # fmt: skip
        session.log = write

    def execute(self, line: str) -> None:
        """Execute a command; a mistake is an answer."""
        word, _, rest = line.strip().partition(" ")
        if not word:
            return
        command = self.commands.get(word)
        try:
            if command is None:
                raise TileError(f"there is no command '{word}'{did_you_mean(word, list(self.commands))}; try `help`")
            command(rest.strip())
        except TileError as error:
            notes = "".join(f"  {note}\n" for note in error.notes)
            self.write(f"{error.message}\n{notes}")

    # ------------------------------------------------------------ stops

    def add_break(self, text: str) -> None:
        where, condition = _condition(text)
        matched = re.fullmatch(r"(\S+)(?:\s+block\s+([\d,\s]+))?", where)
        if matched is None:
            raise TileError("expected b WHERE [block X,Y] [if EXPR]")
        block = None if matched[2] is None else _block(matched[2])
        point = self.session.break_at(**_place(matched[1]), block=block, condition=condition)
        if not point.positions:
            self.session.delete(point.number)
            raise TileError(f"there is nothing to stop at: {where}")
        self.write(f"stop {point.number}: {point}\n")

    def add_watch(self, text: str) -> None:
        where, condition = _condition(text)
        point = self.session.watch(where, condition)
        self.write(f"stop {point.number}: write to {point.text}\n")

    def catch(self, text: str) -> None:
        self.session.catch(text)

    def uncatch(self, text: str) -> None:
        self.session.catch(text, on=False)

    def delete(self, text: str) -> None:
        self.session.delete(_number(text))

    def info(self, _: str) -> None:
        for point in self.session.breakpoints:
            self.write(f"{point.number}: {point}, hit {point.hits} times\n")
        for watch in self.session.watchpoints:
            self.write(f"{watch.number}: write to {watch.text}, hit {watch.hits} times\n")
        for what in sorted(self.session.catches):
            self.write(f"catch {what}\n")

    # ------------------------------------------------------------ motion

    def go(self, motion: Callable[[], Stop]) -> Callable[[str], None]:
        return lambda _: self.stopped(motion())

    def times(self, motion: Callable[[], Stop]) -> Callable[[str], None]:
        def move(text: str) -> None:
            stop = Stop("step")
            for _ in range(_number(text) if text else 1):
                stop = motion()
                if stop.reason != "step":
                    break
            self.stopped(stop)

        return move

    def goto(self, text: str) -> None:
        self.stopped(self.session.run_to(_number(text)))

    def stopped(self, stop: Stop) -> None:
        """Say why it stopped, and where."""
        if stop.reason == "end":
            self.write("the launch has ended\n")
            return
        if stop.reason != "step" or stop.text:
            self.write(f"{stop.reason}: {stop.text}\n" if stop.text else f"{stop.reason}\n")
        self.where("")

    def where(self, _: str) -> None:
        session = self.session
        if session.op is None:
            self.write("the launch has ended\n")
            return
        place, others = session.place, len(session.together()) - 1
        block = f"block {','.join(map(str, session.block))}" + (f" and {others} more" if others else "")
        line = "" if place is None else f"{os.path.basename(place.file) or '<text>'}:{place.line}"
        self.write(f"[{session.position}] {block}  {line}  {_line_of(session)}\n")

    # ------------------------------------------------------------ values

    def print(self, text: str) -> None:
        self.write(f"{shown(self.session.evaluate(text))}\n")

    def examine(self, text: str) -> None:
        found = self.session.value(text)
        self.write(f"{found.name}: {found.type}{' (of the iteration before)' if found.stale else ''}\n")
        if found.is_tile:
            tile = found.tile
            self.write(f"{statistics(tile)}\n{shown(tile)}\n")
        else:
            self.write(f"{found}\n")

    def vars(self, text: str) -> None:
        found = self.session.variables()
        if text != "all":
            found = named(found)
        for variable in found:
            stale = " (of the iteration before)" if variable.stale else ""
            line = f"{variable.name}: {variable.type} = {variable}{stale}"
            self.write((line if len(line) <= WIDTH + 20 else line[: WIDTH + 17] + "...") + "\n")
        for array in self.session.arrays:
            self.write(f"{array.name}: array of {array.element}, {'x'.join(map(str, array.shape))}\n")

    def list(self, _: str) -> None:
        place = self.session.place
        if place is None:
            raise TileError("the operation has no source line")
        for number in range(max(1, place.line - AROUND), place.line + AROUND + 1):
            text = source_line(self.session, number)
            if text is not None:
                self.write(f"{'->' if number == place.line else '  '} {number:4} {text}\n")

    def blocks(self, _: str) -> None:
        session = self.session
        together = session.together()
        self.write(f"in focus: {session.block}; here: {', '.join(map(str, together[:8]))}")
        self.write(f" and {len(together) - 8} more\n" if len(together) > 8 else "\n")
        for block, o in session.waiting()[:16]:
            line = session.source.line(o)
            self.write(f"{block} is before {o.name}{f' at {line}' if line else ''}\n")

    def block(self, text: str) -> None:
        self.stopped(self.session.switch(_block(text)))

    def who(self, text: str) -> None:
        if (stop := self.session.last_write(text)) is None:
            raise TileError(f"nothing has written {text} so far")
        self.stopped(stop)

    def reports(self, _: str) -> None:
        for report in self.session.reports:
            where = self.session.source.line(report.op)
            self.write(f"{where + ': ' if where else ''}{report.check}: {report.message}\n")
            self.write("".join(f"  {line}\n" for line in report.details))

    def help(self, _: str) -> None:
        self.write(HELP)

    def quit(self, _: str) -> None:
        raise Quit


def shown(value: Any) -> str:
    """Return the result of an expression as text."""
    if isinstance(value, tuple):
        return "(" + ", ".join(shown(each) for each in value) + ")"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=200, max_line_width=WIDTH)
    return f"{value:g}" if isinstance(value, (float, np.floating)) else str(value)


def source_line(session: Session, number: int) -> str | None:
    """Return a line of the file that the session is in; None if there is none."""
    source, place = session.kernel.loaded.module.source, session.place
    assert place is not None
    if source is not None and source.text is not None:
        lines = source.text.split("\n")
        return lines[number - 1] if number <= len(lines) else None
    text = place._replace(line=number).text
    return text or None


def _line_of(session: Session) -> str:
    assert session.op is not None
    place = session.place
    text = source_line(session, place.line) if place is not None else None
    if text is None:
        text = str(session.op).partition("\n")[0]
    text = text.strip()
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def _condition(text: str) -> tuple[str, str]:
    where, *condition = re.split(r"(?:^|\s+)if(?:\s+|$)", text, maxsplit=1)
    if condition and not condition[0].strip():
        raise TileError("expected a condition after `if`")
    return where.strip(), condition[0].strip() if condition else ""


def _place(text: str) -> dict[str, Any]:
    file, _, line = text.rpartition(":")
    if line.isdecimal():
        return {"file": file, "line": _number(line)}
    return {"value": text} if text.startswith("%") else {"op": text}


def _block(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.replace("(", "").replace(")", "").split(","))
    except ValueError:
        raise TileError(f"expected a tile block X[,Y[,Z]], got '{text}'") from None


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > DIGITS:
        raise TileError(f"expected a number, got '{text[: DIGITS + 1]}'")
    return int(text)

"""The breakpoints of an editor: they are set before a launch, outlive it, and are bound in each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...diag import TileError
from ..breakpoints import Breakpoint
from ..session import Session

Item = dict[str, Any]
NOT_YET = "no launched kernel has an operation there so far"


@dataclass(slots=True, eq=False)
class Wanted:
    """A breakpoint that an editor asked for."""

    number: int
    where: Item
    """An argument of `Session.break_at`, or `{"watch": element}`."""
    error: str = ""
    bound: int = 0
    """The number of the stop in the session; 0 if there is none."""
    line: int = 0

    def as_item(self) -> Item:
        item: Item = {"id": self.number, "verified": bool(self.bound)}
        if self.error or not self.bound:
            item["message"] = self.error or NOT_YET
        if self.line:
            item["line"] = self.line
        return item


@dataclass(slots=True)
class Wishes:
    """All breakpoints of an editor, by what set them: a file, `functions` or `data`."""

    groups: dict[str, list[Wanted]] = field(default_factory=dict)
    filters: set[str] = field(default_factory=set)
    count: int = 0

    def replace(self, group: str, places: list[Item], session: Session | None) -> list[Wanted]:
        """Set the breakpoints of a group, instead of those before."""
        for old in self.groups.get(group, ()):
            if session is not None and old.bound:
                session.delete(old.bound)
        self.groups[group] = []
        for where in places:
            self.count += 1
            self.groups[group].append(Wanted(self.count, where, line=int(where.get("line", 0))))
        if session is not None:
            for wanted in self.groups[group]:
                apply(wanted, session)
        return self.groups[group]

    def bind(self, session: Session) -> list[Wanted]:
        """Set everything in a new session; return what was bound."""
        found = [wanted for group in self.groups.values() for wanted in group]
        for wanted in found:
            apply(wanted, session)
        self.catch(session)
        return [wanted for wanted in found if wanted.bound]

    def catch(self, session: Session) -> None:
        """Stop on NaN and on reports as the filters say."""
        session.catch("nan", "nan" in self.filters)
        if session.sanitizer is not None:
            session.catch("report", "report" in self.filters)

    def of(self, session: Session, numbers: list[int]) -> list[int]:
        """Return the editor's numbers for stops of a session."""
        return [each.number for group in self.groups.values() for each in group if each.bound in numbers]


def apply(wanted: Wanted, session: Session) -> None:
    """Set a breakpoint in a session."""
    wanted.bound, wanted.error = 0, ""
    try:
        if "watch" in wanted.where:
            wanted.bound = session.watch(wanted.where["watch"], wanted.where.get("condition", "")).number
            return
        point: Breakpoint = session.break_at(**wanted.where)
    except TileError as error:
        wanted.error = error.message
        return
    if point.positions:
        wanted.bound = point.number
    else:
        session.delete(point.number)


def line_place(file: str, item: Item) -> Item:
    """Return what `break_at` takes, for a breakpoint of a line."""
    return {"file": file, "line": int(item.get("line", 0)), **_options(item)}


def function_place(item: Item) -> Item:
    """Return what `break_at` takes, for a breakpoint of a name: an operation, or a value that starts with `%`."""
    name = str(item.get("name", ""))
    return {("value" if name.startswith("%") else "op"): name, **_options(item)}


def _options(item: Item) -> Item:
    hits = str(item.get("hitCondition") or "").strip().lstrip(">=").strip()
    condition, _, block = str(item.get("condition") or "").partition("block ")
    options: Item = {"condition": condition.strip(), "message": str(item.get("logMessage") or "")}
    if block and not condition.strip():  # `block 3,0`: this tile block only
        options["block"] = tuple(int(part) for part in block.split(",") if part.strip().isdecimal())
    elif block:
        options["condition"] = str(item["condition"])
    if hits.isdecimal():
        options["ignore"] = max(0, int(hits) - 1)
    return options

"""The verdict of a proof: an answer, the theorem it means, and the witness or the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engines.common.tiles import Array

EQUAL, DIFFERENT, UNDECIDED = "equal", "different", "undecided"


@dataclass(slots=True)
class Witness:
    """Inputs on which two programs differ, and the element where they do."""

    inputs: dict[str, Array]
    """The real inputs, as f64 that every kernel's own type holds exactly."""
    output: str
    element: tuple[int, ...]
    values: tuple[str, str]
    """The result of each program there."""
    how: str
    """How the difference is known."""
    own: tuple[str, str] | None = None
    """The result of each program there in its own types, on the reference engine."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data; inputs are summarised by their shapes."""
        facts: dict[str, Any] = {"output": self.output, "element": list(self.element), "values": list(self.values)}
        facts |= {"how": self.how, "inputs": {name: list(np.shape(a)) for name, a in self.inputs.items()}}
        if self.own is not None:
            facts["own"] = list(self.own)
        return facts


@dataclass(slots=True)
class Verdict:
    """An answer (`equal`, `different` or `undecided`) and what it means."""

    answer: str
    theorem: str = ""
    """The claim in words; empty if nothing was decided."""
    reason: str = ""
    """Why nothing was decided, or where the programs differ."""
    witness: Witness | None = None
    rung: str = ""
    """The method that decided: `bits`, `residues`, `enclosures`, `integers` or `sanitizer`."""
    chance: str = ""
    """A bound on the chance that `equal` is wrong."""
    assumed: list[str] = field(default_factory=list)
    """Readings and assumptions that the theorem depends on."""
    ignored: list[str] = field(default_factory=list)
    """Parts of the programs that were not compared."""
    samples: int = 0
    compared: int = 0
    """How many output elements were compared."""
    seconds: float = 0.0
    shapes: list[dict[str, int]] = field(default_factory=list)
    """The sizes that were tried, if there were several."""
    notes: list[str] = field(default_factory=list)
    """Stability, errors, and anything else that is worth knowing."""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_equal(self) -> bool:
        return self.answer == EQUAL

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data, for JSON."""
        made: dict[str, Any] = {"answer": self.answer, "theorem": self.theorem, "reason": self.reason}
        made |= {"rung": self.rung, "chance": self.chance, "assumed": self.assumed, "ignored": self.ignored}
        made |= {"samples": self.samples, "compared": self.compared, "seconds": round(self.seconds, 3)}
        made |= {"shapes": self.shapes, "notes": self.notes, "facts": self.facts}
        made["witness"] = None if self.witness is None else self.witness.as_dict()
        return made

    def text(self) -> str:
        """Return the verdict for people."""
        lines = [self.answer + (f": {self.reason}" if self.reason else "")]
        if self.theorem:
            lines.append(self.theorem)
        if self.chance:
            lines.append(f"chance of error: {self.chance}")
        lines += [f"assumed: {each}" for each in self.assumed]
        if self.ignored:
            lines.append(f"not looked at: {', '.join(self.ignored)}")
        if self.witness is not None:
            w = self.witness
            where = f"{w.output}[{', '.join(map(str, w.element))}]"
            lines.append(f"witness: {where} is {w.values[0]} in A and {w.values[1]} in B ({w.how})")
            if w.own is not None:
                lines.append(f"  in the kernels' own types: {w.own[0]} and {w.own[1]}")
        lines += self.notes
        return "\n".join(lines) + "\n"

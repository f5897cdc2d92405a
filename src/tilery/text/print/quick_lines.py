"""An op's format as a function that names its result and makes its line at once; `lines` is the slow twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...attrs import Dense
from ...declare.codegen import GiveUp, build
from ...declare.operation import OpDef
from ...ir import Op, Value
from ...ops import Assume, Constant
from ...types import Type
from ...version import Version
from .. import format
from .attributes import dense_text
from .lines import Line, Maker, make_line
from .names import FEW, Namer, Names, constant_hint, plan_for
from .parts import Context

QuickLine = Callable[[Any, Iterator[str], str], str]
"""Makes the line of an op, with the numbers that are free and what goes before it; empty for an op with regions."""
Bind = Callable[["Run"], QuickLine]
Hole = tuple[Op, Line]

SMALL = 64
"""Constants of more bytes are not remembered."""
MADE_HINTS: dict[type[Op], str] = {Assume: "assume_hint", Constant: "constant_hint"}
"""What makes the names that depend on an operation."""


class SureNames(Names):
    """Joins names that are in a plain dictionary, which is three times as fast to look up."""

    texts: dict[Value, str]

    def join(self, values: Any) -> str:
        if len(values) == 1:
            return self.texts[values[0]]
        texts = [self.texts[v] for v in values]
        if len(texts) > FEW:
            self.check(texts)
        return ", ".join(texts)


class Run:
    """What the functions of one run share."""

    def __init__(self, namer: Namer, context: Context) -> None:
        self.namer, self.context = namer, context
        self.names = context.names
        self.texts = namer.texts
        self.holes: list[Hole] = []
        """ops with regions, with what makes their lines when everything inside has names"""
        # By the identity of the constant, which lives as long as the module: the reader makes equal ones once.
        self._constants: dict[int, str] = {}
        self._hints: dict[int, str] = {}

    def dense(self, value: Dense, shown: Type) -> str:
        """The text of a constant; most are small and not new."""
        text = self._constants.get(id(value))
        if text is None or value.type is not shown:
            text = dense_text(value, shown)
            if len(value.data) <= SMALL and value.type is shown:
                self._constants[id(value)] = text
        return text

    def constant_hint(self, o: Any) -> str:
        """The name of a constant; most have been met before."""
        text = self._hints.get(id(o.value))
        if text is None:
            text = constant_hint(o)
            if len(o.value.data) <= SMALL:
                self._hints[id(o.value)] = text
        return text


class _QuickMaker(Maker):
    """Like its base, with the blanks before the line, the result's name and the end of the line in the same string."""

    many = "names"

    def __init__(self, cls: type[Op], name: str) -> None:
        super().__init__(cls, name)
        self.margin = "        "
        self.env["GiveUp"] = GiveUp
        self.lines.append("        if o.extra: raise GiveUp")
        self.text = "{i}" + self._named() + name

    def _named(self) -> str:
        """Name the results; gives what stands left of the op's name."""
        plan, outs = plan_for(self.opdef.cls), self.opdef.outs
        if not outs:
            return ""
        if any(f.arity != "one" for f in outs):
            self.env["plan"] = plan
            self.lines.append("        name_results(o, plan)")
            return "{head(o)}"
        if plan.single and not plan.hint:
            self.lines.append(f"        n[o.{plan.single}] = r0 = next(f)")
            return "{r0} = "
        made = MADE_HINTS.get(self.opdef.cls)
        for number, f in enumerate(outs):
            hint = f"{made}(o)" if made else repr(plan.hint if plan.single else f.name)
            self.lines.append(f"        r{number} = name(o.{f.attr}, {hint})")
        return ", ".join(f"{{r{number}}}" for number in range(len(outs))) + " = "

    def piece(self, piece: format.Piece) -> None:
        if not isinstance(piece, format.AttrDict):  # such an op is unusual
            super().piece(piece)

    def _use(self, use: format.Use) -> None:
        if use.kind != "dense":
            super()._use(use)
            return
        shown = f"o.{use.result.attr}.type" if use.result else f"o.{use.field.attr}.type"
        self.text += f"{' ' * use.space}{{dense(o.{use.field.attr}, {shown})}}"

    def source(self, pieces: tuple[format.Piece, ...]) -> str:
        for piece in pieces:
            self.piece(piece)
        used = "\n".join(self.lines) + self.text
        shared = {
            "n": "run.texts",
            "names": "run.names",
            "name": "run.namer.name",
            "constant_hint": "run.constant_hint",
            "assume_hint": "run.namer.assume_hint",
            "dense": "run.dense",
            "name_results": "run.namer.name_results",
            "head": "run.context.head",
        }
        body = [f"    {word} = {source}" for word, source in shared.items() if f"{word}(" in used
                or f"{word}[" in used or f"{word}." in used or f" {word})" in used]  # fmt: skip
        body += ["    def line(o, f, i):", *self.lines, f"        return f{self.text + chr(10)!r}", "    return line"]
        return "\n".join(["def bind(run):", *body, ""])


def _with_parts(cls: type[Op], made: Line) -> Bind:
    """For hand-written forms and ops with regions, whose lines the slow twin makes."""
    plan, nested = plan_for(cls), bool(cls.opdef.regions)
    single, hint = plan.single, plan.hint if isinstance(plan.hint, str) else ""

    def bind(run: Run) -> QuickLine:
        namer, context = run.namer, run.context

        def line(o: Any, f: Iterator[str], i: str) -> str:
            if o.extra:
                raise GiveUp
            if single and hint:
                namer.name(getattr(o, single), hint)
            elif single:
                namer.texts[getattr(o, single)] = next(f)
            elif plan.results:
                namer.name_results(o, plan)
            if nested:
                run.holes.append((o, made))
                return ""
            parts = made(o, context.texts, context)
            return f"{i}{parts if isinstance(parts, str) else ''.join(map(str, parts))}\n"

        return line

    return bind


def make_bind(cls: type[Op], name: str) -> Bind:
    """What makes the function of an op called `name`, from its format, for each run."""
    if cls.opdef.regions or cls.opdef.format == "custom":
        return _with_parts(cls, make_line(cls, name))
    maker = _QuickMaker(cls, name)
    source = maker.source(format.pieces_of(cls))
    made: Bind = build(f"printer of {name}", source, maker.env)
    return made


def printer_source(opdef: OpDef, version: Version) -> str:
    """The source of the function that prints an op, as a version calls it."""
    if opdef.format == "custom":
        return f"# Written by hand: {opdef.mnemonic} in tilery/text/print/custom.py\n"
    maker = Maker if opdef.regions else _QuickMaker
    return maker(opdef.cls, opdef.name_in(version)).source(format.pieces_of(opdef.cls))

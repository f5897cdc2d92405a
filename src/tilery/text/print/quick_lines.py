"""The fast functions of operations: each names the results and makes the line at once. `lines` is the slow twin."""

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
"""Makes the line of an operation from the free numbers and the indentation; empty for an operation with regions."""
Bind = Callable[["QuickContext"], QuickLine]
"""Makes the function of an operation for one run."""
Nested = tuple[Op, Line]
"""An operation with regions, and the function that prints it once everything inside has names."""

SMALL = 64
"""Constants of more bytes are not cached."""
MADE_HINTS: dict[type[Op], str] = {Assume: "assume_hint", Constant: "constant_hint"}
"""The functions that make names which depend on the operation."""


class SureNames(Names):
    """Joins names from a plain dictionary, where a lookup is three times as fast."""

    texts: dict[Value, str]

    def join(self, values: Any) -> str:
        if len(values) == 1:
            return self.texts[values[0]]
        texts = [self.texts[v] for v in values]
        if len(texts) > FEW:
            self.check(texts)
        return ", ".join(texts)


class QuickContext:
    """The state that the functions of one run share."""

    def __init__(self, namer: Namer, context: Context) -> None:
        self.namer, self.context = namer, context
        self.names = context.names
        self.texts = namer.texts
        self.nested: list[Nested] = []
        """the operations with regions of the current block"""
        # By the identity of the constant: it lives as long as the module, and readers share equal ones.
        self._constants: dict[int, str] = {}
        self._hints: dict[int, str] = {}

    def dense(self, value: Dense, shown: Type) -> str:
        """Return the text of a constant. Small ones are cached: most repeat."""
        text = self._constants.get(id(value))
        if text is None or value.type is not shown:
            text = dense_text(value, shown)
            if len(value.data) <= SMALL and value.type is shown:
                self._constants[id(value)] = text
        return text

    def constant_hint(self, o: Any) -> str:
        """Return the name of a constant. Those of small ones are cached: most repeat."""
        text = self._hints.get(id(o.value))
        if text is None:
            text = constant_hint(o)
            if len(o.value.data) <= SMALL:
                self._hints[id(o.value)] = text
        return text


class _QuickMaker(Maker):
    """Like its base, but the string includes the indentation, the results and the end of the line."""

    many = "names"

    def __init__(self, cls: type[Op], name: str) -> None:
        super().__init__(cls, name)
        self.margin = "        "
        self.env["GiveUp"] = GiveUp
        self.lines.append("        if o.extra: raise GiveUp")
        self.text = "{i}" + self._named() + name

    def _named(self) -> str:
        """Name the results; return the text before the operation's name."""
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
        if not isinstance(piece, format.AttrDict):  # the slow twin prints discardable attributes
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
            "n": "shared.texts",
            "names": "shared.names",
            "name": "shared.namer.name",
            "constant_hint": "shared.constant_hint",
            "assume_hint": "shared.namer.assume_hint",
            "dense": "shared.dense",
            "name_results": "shared.namer.name_results",
            "head": "shared.context.head",
        }
        body = [f"    {word} = {source}" for word, source in shared.items() if f"{word}(" in used
                or f"{word}[" in used or f"{word}." in used or f" {word})" in used]  # fmt: skip
        body += ["    def line(o, f, i):", *self.lines, f"        return f{self.text + chr(10)!r}", "    return line"]
        return "\n".join(["def bind(shared):", *body, ""])


def _with_parts(cls: type[Op], made: Line) -> Bind:
    """Bind an operation with a custom form or regions; the slow twin makes its line."""
    plan, nested = plan_for(cls), bool(cls.opdef.regions)
    single, hint = plan.single, plan.hint if isinstance(plan.hint, str) else ""

    def bind(shared: QuickContext) -> QuickLine:
        namer, context = shared.namer, shared.context

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
                shared.nested.append((o, made))
                return ""
            parts = made(o, context.texts, context)
            return f"{i}{parts if isinstance(parts, str) else ''.join(map(str, parts))}\n"

        return line

    return bind


def make_bind(cls: type[Op], name: str) -> Bind:
    """Compile the function that prints an operation under a name; it is bound anew for each run."""
    if cls.opdef.regions or cls.opdef.format == "custom":
        return _with_parts(cls, make_line(cls, name))
    maker = _QuickMaker(cls, name)
    source = maker.source(format.pieces_of(cls))
    made: Bind = build(f"printer of {name}", source, maker.env)
    return made


def printer_source(opdef: OpDef, version: Version) -> str:
    """Return the source of the function that prints an operation under its name in a version."""
    if opdef.format == "custom":
        return f"# Written by hand: {opdef.mnemonic} in tilery/text/print/custom.py\n"
    maker = Maker if opdef.regions else _QuickMaker
    return maker(opdef.cls, opdef.name_in(version)).source(format.pieces_of(opdef.cls))

"""The fast functions of operations: each names the results and makes the line at once. `lines` is the slow twin."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ...attrs import Dense
from ...declare.codegen import GiveUp, build, indent
from ...declare.fields import REQUIRED, AttrKind, Field
from ...declare.operation import OpDef
from ...ir import Op, Value
from ...ops import Assume, Constant
from ...types import Type
from ...version import Version
from .. import format
from .attributes import dense_text, predicate_text
from .lines import PLAIN, Line, inbounds, index_types, make_line, splat
from .names import FEW, Namer, ValueNames, constant_hint, plan_for
from .parts import PrintContext

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


class SureNames(ValueNames):
    """Joins names from a plain dictionary, where a lookup is three times as fast."""

    texts: dict[Value, str]

    def join(self, values: Any) -> str:
        known = self.texts
        if len(values) == 1:
            return known[values[0]]
        if len(values) == 2:
            return f"{known[values[0]]}, {known[values[1]]}"
        texts = [known[v] for v in values]
        if len(texts) > FEW:
            self.check(texts)
        return ", ".join(texts)


class QuickContext:
    """The state that the functions of one run share."""

    def __init__(self, namer: Namer, context: PrintContext) -> None:
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


_HELPERS: dict[str, Any] = {
    "GiveUp": GiveUp,
    "predicate_text": predicate_text,
    "inbounds": inbounds,
    "index_types": index_types,
    "splat": splat,
    **{f"plain_{kind.name}": text for kind, text in PLAIN.items()},
}
_SHARED = {
    "n": "shared.texts",
    "names": "shared.names",
    "name": "shared.namer.name",
    "constant_hint": "shared.constant_hint",
    "assume_hint": "shared.namer.assume_hint",
    "dense": "shared.dense",
    "name_results": "shared.namer.name_results",
    "head": "shared.context.head",
}
"""The variables of a generated function that are bound for each run."""


class _Maker:
    """Generates the function of one operation without regions; `text` is the inside of the f-string that it returns."""

    def __init__(self, cls: type[Op], name: str) -> None:
        self.opdef = cls.opdef
        self.lines = ["if o.extra: raise GiveUp"]  # the slow twin prints discardable attributes
        self.env = dict(_HELPERS)
        self.text = "{i}" + self._named() + name

    def source(self, pieces: tuple[format.Piece, ...]) -> str:
        for piece in pieces:
            self._piece(piece)
        used = "\n".join(self.lines) + self.text
        body = [f"{word} = {source}" for word, source in _SHARED.items() if re.search(rf"\b{word}\b[(\[.)]", used)]
        body += ["def line(o, f, i):", *indent(self.lines, 1), f"    return f{self.text + chr(10)!r}", "return line"]
        return "\n".join(["def bind(shared):", *indent(body, 1), ""])

    def _named(self) -> str:
        """Name the results; return the text before the operation's name."""
        plan, outs = plan_for(self.opdef.cls), self.opdef.outs
        if not outs:
            return ""
        if any(f.arity != "one" for f in outs):
            self.env["plan"] = plan
            self.lines.append("name_results(o, plan)")
            return "{head(o)}"
        if plan.single and not plan.hint:
            self.lines.append(f"n[o.{plan.single}] = r0 = next(f)")
            return "{r0} = "
        made = MADE_HINTS.get(self.opdef.cls)
        for number, f in enumerate(outs):
            hint = f"{made}(o)" if made else repr(plan.hint if plan.single else f.name)
            self.lines.append(f"r{number} = name(o.{f.attr}, {hint})")
        return ", ".join(f"{{r{number}}}" for number in range(len(outs))) + " = "

    def _piece(self, piece: format.Piece) -> None:
        match piece:
            case format.Literal(text, space):
                self.text += " " * space + text.replace("{", "{{").replace("}", "}}")
            case format.Blank():
                self.text += " "
            case format.Group():
                self._group(piece)
            case format.AnyOrder(groups):
                for group in groups:
                    self._group(group)
            case format.Use():
                self._use(piece)

    def _group(self, group: format.Group) -> None:
        """Print a group by a variable, which may be empty."""
        outer, self.text = self.text, ""
        for piece in group.pieces:
            self._piece(piece)
        self.text = outer + self._variable(f"f{self.text!r} if {self._present(group.anchor)} else ''")

    def _variable(self, expression: str) -> str:
        name = f"part{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return f"{{{name}}}"

    def _present(self, f: Field) -> str:
        value = f"o.{f.attr}"
        if f.arity == "var" or f.kind is AttrKind.FLAG:
            return value
        if f.role != "attr" or f.arity == "opt":
            return f"{value} is not None"
        assert f.default is not REQUIRED
        return f"{value} {'is not' if f.kind is AttrKind.ENUM else '!='} {self._default(f)}"

    def _default(self, f: Field) -> str:
        self.env[f"default_{f.attr}"] = f.default
        return f"default_{f.attr}"

    def _use(self, use: format.Use) -> None:
        f = use.field
        value = f"o.{f.attr}"
        if use.kind not in ("inbounds", "index-types"):  # these print their own blank, or none
            self.text += " " * use.space
        match use.kind:
            case "":
                self.text += self._plain(f, value)
            case "type":
                self.text += f"{{names.types({value})}}" if f.arity == "var" else f"{{{value}.type.text}}"
            case "keyword":
                self.text += f"{{{value}.text}}"
            case "angle":
                self.text += f"<{{{value}.text}}>"
            case "rounding":
                shown = f"f'rounding<{{{value}.text}}>'"
                self.text += self._variable(f"'' if {value} is {self._default(f)} else {shown}")
            case "visibility":
                self.text += self._variable(f"'' if {value} is {self._default(f)} else {value}.text + ' '")
            case "dense":
                shown = f"o.{use.result.attr}.type" if use.result else f"{value}.type"
                self.text += f"{{dense({value}, {shown})}}"
            case "index-types":
                self.text += f"{{index_types({value}, names)}}"
            case "predicate":
                self.text += f"{{predicate_text({value})}}"
            case "inbounds":
                self.text += f"{{inbounds({value}) if True in {value} else ''}}"
            case "splat":
                self.text += f"{{splat({value})}}"

    def _plain(self, f: Field, value: str) -> str:
        if f.role != "attr":
            return f"{{names.join({value})}}" if f.arity == "var" else f"{{n[{value}]}}"
        return f"{{plain_{f.kind.name}({value})}}" if f.kind in PLAIN else f"{{{value}}}"


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
    maker = _Maker(cls, name)
    source = maker.source(format.pieces_of(cls))
    made: Bind = build(f"printer of {name}", source, maker.env)
    return made


def printer_source(opdef: OpDef, version: Version) -> str:
    """Return the source of the function that prints an operation under its name in a version."""
    if opdef.format == "custom":
        return f"# Written by hand: {opdef.mnemonic} in tilery/text/print/custom.py\n"
    if opdef.regions:
        return f"# Not generated: {opdef.mnemonic} has regions; tilery/text/print/lines.py follows its format\n"
    return _Maker(opdef.cls, opdef.name_in(version)).source(format.pieces_of(opdef.cls))

"""Text to a module: the entry points of the parser."""

from __future__ import annotations

from functools import cache, cached_property

from ...declare.fastclass import dataclass
from ...declare.gcpause import paused
from ...declare.operation import BY_NAME, registered
from ...diag import TileError
from ...ir import Block, Op, UnknownOp, walk
from ...ops import Module
from ..lexer import tokens
from ..print.parts import DIALECT, PRODUCER
from .forms import form_of
from .operations import parse_operations
from .quick import quick_parse
from .state import Extensions, Parser, Syntax

QUICK_SIZE = 20_000
"""Texts of at least this many characters take the fast path. Below, preparing it takes longer than it saves."""


@cache
def forms(testing: bool) -> dict[str, Syntax]:
    """Return the custom syntax of all operations by name, with and without the dialect's prefix."""
    allowed = {id(d) for d in registered(testing=testing)}
    out: dict[str, Syntax] = {}
    for name, opdef in BY_NAME.items():
        if id(opdef) in allowed:
            form = Syntax(name, form_of(opdef))
            out[DIALECT + name] = form
            out[name] = form
    out.pop("module")
    return out


@dataclass()
class Parsed:
    """A module, and the spans of its operations in the text."""

    module: Module
    wrapped: bool
    """whether the text has a `cuda_tile.module`; otherwise its items are at the top level"""
    source: str
    file: str
    allow_unregistered: bool
    testing: bool

    @cached_property
    def spans(self) -> dict[Op, tuple[int, int]]:
        """The start and end of each operation's name. They are not kept while parsing: the text is parsed again."""
        with paused:
            spans, again = _piecewise(self.source, self.file, self.allow_unregistered, self.testing, None)
        return {o: spans[twin] for o, twin in zip(walk(self.module), walk(again)) if twin in spans}

    def error(self, o: Op, message: str, *notes: str) -> TileError:
        """Make an error about an operation of the text."""
        start, end = self.spans.get(o, (0, 0))
        return TileError(message, file=self.file, source=self.source, start=start, end=end, notes=notes)


def parse(
    text: str,
    *,
    file: str = "",
    allow_unregistered: bool = False,
    testing: bool = False,
    quick: bool | None = None,
) -> Module:
    """Parse a module; it is not verified.

    `quick` chooses between the fast path and the piecewise parser, whose results are equal. By default the size of the
    text decides.

    >>> parse("entry @k() {}").entries[0].sym_name
    'k'
    """
    return _module(_block(text, file, allow_unregistered, testing, quick), text)[0]


def parse_with_spans(text: str, *, file: str = "", allow_unregistered: bool = False, testing: bool = False) -> Parsed:
    """Parse a module, and keep its text for messages about its operations."""
    module, wrapped = _module(_block(text, file, allow_unregistered, testing, None), text)
    return Parsed(module, wrapped, text, file, allow_unregistered, testing)


def parse_extended(
    text: str, extensions: Extensions, *, file: str = "", allow_unregistered: bool = False
) -> tuple[Module, dict[Op, tuple[int, int]]]:
    """Parse a module from text with extended syntax; return it and the start and end of each operation's name."""
    _check_unicode(text, file)
    with paused:
        spans, module = _piecewise(text, file, allow_unregistered, False, extensions)
    return module, spans


def _block(text: str, file: str, allow_unregistered: bool, testing: bool, quick: bool | None) -> Block:
    _check_unicode(text, file)
    if quick is None:
        quick = len(text) >= QUICK_SIZE
    with paused:
        if quick and not allow_unregistered and (block := quick_parse(text, forms(testing), testing)) is not None:
            return block
        return parse_operations(_parser(text, file, allow_unregistered, testing, None))


def _parser(text: str, file: str, allow_unregistered: bool, testing: bool, extensions: Extensions | None) -> Parser:
    known, toks = forms(testing), tokens(text)
    if extensions is not None:
        known = {**known, **extensions.forms}
        if extensions.respell is not None:
            extensions.respell(toks)
    return Parser(
        text,
        toks,
        known,
        file=file,
        allow_unregistered=allow_unregistered,
        testing=testing,
        extensions=extensions,
    )


def _piecewise(
    text: str, file: str, allow_unregistered: bool, testing: bool, extensions: Extensions | None
) -> tuple[dict[Op, tuple[int, int]], Module]:
    p = _parser(text, file, allow_unregistered, testing, extensions)
    module, _ = _module(parse_operations(p), text)
    return {o: p.span((token, -1)) for o, token in p.op_tokens.items()}, module


def _check_unicode(text: str, file: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        message = "the text is not valid Unicode"
        raise TileError(message, file=file, source=text, start=error.start, end=error.end) from None


def _module(block: Block, text: str) -> tuple[Module, bool]:
    """Return the one `cuda_tile.module` of a text and True, or a module around the top-level items and False."""
    name = ""
    while len(block.ops) == 1 and isinstance(o := block.ops[0], UnknownOp) and o.name == "builtin.module":
        name = getattr((o.extra or {}).get("sym_name"), "value", "")
        block = o.regions[0] if o.regions else Block()
    if len(block.ops) == 1 and isinstance(block.ops[0], Module):
        return block.ops[0], True
    producer = text[len(PRODUCER) :].partition("\n")[0] if text.startswith(PRODUCER) else None
    return Module(sym_name=name or "kernels", producer=producer, body=block), False

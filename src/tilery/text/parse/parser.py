"""Text to a module: the entry points of the parser."""

from __future__ import annotations

from functools import cache, cached_property

from ...declare.fastclass import dataclass
from ...declare.gcpause import paused
from ...declare.operation import BY_NAME
from ...diag import ErrorKind, TileError
from ...ir import Block, Op, UnknownOp, walk
from ...ops import Module, registered
from ...types import Type
from .. import DIALECT, PRODUCER
from ..lexer import BLANKS, tokens
from .fast.parse import quick_parse
from .forms import form_of
from .operations import parse_operations
from .state import Extensions, ParseOptions, Parser, Syntax
from .types import parse_type

QUICK_SIZE = 32_768
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
    options: ParseOptions
    parser: Parser | None
    """the piecewise parser that read the text; None after the fast path"""

    @cached_property
    def spans(self) -> dict[Op, tuple[int, int]]:
        """The start and end of each operation's name. After the fast path, the text is parsed again for them."""
        if (p := self.parser) is not None:
            return {o: p.span((token, -1)) for o, token in p.op_tokens.items()}
        with paused:
            again = _parse(self.source, self.options, quick=False)
        return {o: again.spans[twin] for o, twin in zip(walk(self.module), walk(again.module)) if twin in again.spans}

    def error(self, o: Op, message: str, *notes: str) -> TileError:
        """Make an error about an operation of the text."""
        start, end = self.spans.get(o, (0, 0))
        kind = ErrorKind.SYNTAX
        return TileError(
            message, kind=kind, file=self.options.file, source=self.source, start=start, end=end, notes=notes
        )


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
    return _parse(text, ParseOptions(file, allow_unregistered, testing), quick).module


def parse_with_spans(
    text: str,
    *,
    file: str = "",
    allow_unregistered: bool = False,
    testing: bool = False,
    extensions: Extensions | None = None,
) -> Parsed:
    """Parse a module, and keep what messages about its operations need. Extended syntax is always read piecewise."""
    options = ParseOptions(file, allow_unregistered, testing, extensions or Extensions())
    return _parse(text, options, None if extensions is None else False)


def _parse(text: str, options: ParseOptions, quick: bool | None) -> Parsed:
    check_unicode(text, options.file)
    if options.extensions.prepare is not None:
        text = options.extensions.prepare(text)
    known = forms(options.testing)
    if quick is None:
        quick = len(text) >= QUICK_SIZE
    with paused:
        if quick and not options.allow_unregistered and (block := quick_parse(text, known, options)) is not None:
            return Parsed(*wrap(block, text), text, options, None)
        toks = tokens(text)
        if options.extensions.forms:
            known = {**known, **options.extensions.forms}
        if options.extensions.respell is not None:
            options.extensions.respell(toks)
        p = Parser(text, toks, known, options)
        return Parsed(*wrap(parse_operations(p), text), text, options, p)


def type_from_text(text: str) -> Type:
    """Parse one type, the whole text; `tilery.types.parse`."""
    check_unicode(text, "")
    p = Parser(text, tokens(text), {}, ParseOptions())
    found = parse_type(p)
    if p.tok != "" or p.span()[0] < len(text.rstrip(BLANKS)):
        p.plain("expected the end of the type")
    return found


def check_unicode(text: str, file: str) -> None:
    """Raise an error if a text has surrogates that stand for no byte."""
    if text.isascii():
        return
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        message = "the text is not valid Unicode"
        raise TileError(
            message, kind=ErrorKind.SYNTAX, file=file, source=text, start=error.start, end=error.end
        ) from None


def wrap(block: Block, text: str) -> tuple[Module, bool]:
    """Return the one `cuda_tile.module` of a text and True, or a module around the top-level items and False."""
    name = ""
    while len(block.ops) == 1 and isinstance(o := block.ops[0], UnknownOp) and o.name == "builtin.module":
        name = getattr((o.extra or {}).get("sym_name"), "value", "")
        block = o.regions[0] if o.regions else Block()
    if len(block.ops) == 1 and isinstance(block.ops[0], Module):
        return block.ops[0], True
    producer = text[len(PRODUCER) :].partition("\n")[0] if text.startswith(PRODUCER) else None
    return Module(sym_name=name or "kernels", producer=producer, body=block), False

"""The arguments of regions."""

from __future__ import annotations

from .attributes import parse_dictionary, skip_location
from .names import parse_operand
from .state import ParsedArgument, Parser
from .types import parse_type


def parse_arguments(p: Parser) -> list[ParsedArgument]:
    """Read `(%a: type {attributes} loc(...), ...)`."""
    p.expect("(")
    out: list[ParsedArgument] = []
    if p.accept(")"):
        return out
    while True:
        at = p.mark()
        use = parse_operand(p) if p.tok[:1] == "%" else None
        if use is not None:
            p.expect(":")
        if out and (use is None) != (out[-1].use is None):
            p.fail("expected SSA identifier" if use is None else "expected type instead of SSA identifier", at)
        type = parse_type(p)
        attrs = parse_dictionary(p) if p.tok == "{" else {}
        skip_location(p)
        out.append(ParsedArgument(use, type, attrs))
        if not p.accept(","):
            p.expect(")")
            return out

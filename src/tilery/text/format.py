"""The language of `format=` strings: they become tuples of pieces, which the printer and the parser both follow.

`word`                a literal; a blank precedes it where NVIDIA's printer puts one
``                    no blank before the next piece
` `                   a blank
$field                an operand, or the plain form of an attribute
kind($field)          another form of a field, see KINDS
(... $anchor^ ...)?   printed if the anchor is present and not the default
oilist(a | b)         clauses in any order; each starts with a literal and has a flag
%name, ...            a new name, and more of the same kind, in the syntax of operations with a parser of their own
attr-dict             discardable attributes, `{a = 1}`; attr-dict-with-keyword writes `attributes {a = 1}`
"""

from __future__ import annotations

from collections.abc import Iterator

from ..declare.fastclass import dataclass
from ..declare.fields import AttrKind, Field
from ..declare.operation import OpDef, names_in
from ..ir import Op

KINDS = {
    "": "the value itself",
    "type": "the type of a value, or the types of all, separated by commas",
    "keyword": "the bare word of an enum",
    "angle": "the word of an enum in angle brackets",
    "rounding": "`rounding<word>`, omitted for the default",
    "visibility": "the word of a visibility, omitted for the default",
    "dense": "a constant and its type, `<i32: 1> : tile<i32>`",
    "predicate": "an assume predicate",
    "inbounds": "`inbounds = [true, false]`, omitted if all are false",
    "index-types": "the types of indices, or one type if they are equal",
    "splat": "the type that all values share",
    "arguments": "a region on a new line, after its arguments",
    "blocks": "a region; its last operation is omitted if it is the implicit terminator",
}


@dataclass(frozen=True, slots=True)
class Literal:
    """Fixed text. `space` says whether a blank precedes it."""

    text: str
    space: bool


@dataclass(frozen=True, slots=True)
class Blank:
    """A blank that is always printed."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A field in one of the forms in KINDS. `result` is the value whose type is printed with a constant."""

    kind: str
    field: Field
    space: bool
    result: Field | None = None


@dataclass(frozen=True, slots=True)
class AttrDict:
    """Discardable attributes."""

    keyword: bool


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Pieces that are present if the anchor is. An anchor that is a flag is not a piece: a literal implies it."""

    pieces: tuple[Piece, ...]
    anchor: Field


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Groups that may be written in any order. They are printed in this one."""

    groups: tuple[Group, ...]


Piece = Literal | Blank | Use | AttrDict | Group | AnyOrder


def split(text: str) -> Iterator[str]:
    """Yield the tokens of a format; the rest of it where it is wrong. An anchor ends in `^`, a form has its fields.

    >>> list(split("`[` type($lhs)^ oilist(`a` $b)"))
    ['`[`', 'type($lhs)^', 'oilist(', '`a`', '$b', ')']
    """
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        stop = at + 1
        if text[at] == "`":
            stop = text.find("`", stop) + 1 or len(text)
        elif text[at] == ")":
            stop += text.startswith("?", stop)
        elif text[at] not in "(|":
            while stop < len(text) and not text[stop].isspace() and text[stop] not in "`()|^":
                stop += 1
            if text.startswith("(", stop):
                stop = stop + 1 if text[at:stop] == "oilist" else text.find(")", stop) + 1 or len(text)
            stop += text.startswith("^", stop)
        yield text[at:stop]
        at = stop


class _Reader:
    """Reads one format string. Blanks follow the rules of MLIR's generated printers."""

    def __init__(self, opdef: OpDef, text: str) -> None:
        self.opdef = opdef
        self.tokens = split(text)
        self.space, self.after_mark = True, False

    def read(self) -> tuple[tuple[Piece, ...], Field | None, str]:
        """Read pieces up to the end, a closing bracket or a bar. Return them, the anchor, and the last token."""
        pieces: list[Piece] = []
        anchor: Field | None = None
        for token in self.tokens:
            if token[0] == "`" and token[-1] == "`":
                self._literal(token[1:-1], pieces)
            elif token in ("attr-dict", "attr-dict-with-keyword"):
                pieces.append(AttrDict(token != "attr-dict"))
                self.after_mark = False
            elif token == "(":
                inner, inner_anchor, _ = self.read()
                pieces.append(self._group(inner, inner_anchor))
            elif token == "oilist(":
                pieces.append(self._oilist())
            elif token in (")", ")?", "|"):
                return tuple(pieces), anchor, token
            else:
                use = self._use(token)
                if token[-1] == "^":
                    anchor = use.field
                if use.field.kind is not AttrKind.FLAG:
                    pieces.append(use)
                    self.space, self.after_mark = True, False
                elif anchor is None:  # a clause of an oilist
                    anchor = use.field
        return tuple(pieces), anchor, ""

    def _literal(self, text: str, pieces: list[Piece]) -> None:
        if text == "":
            self.space, self.after_mark = False, True
        elif text == " ":
            pieces.append(Blank())
            self.space, self.after_mark = False, False
        else:
            tight = ">)}]," if self.after_mark else "<>(){}[],"
            word = len(text) != 1 and text != "->"
            pieces.append(Literal(text, self.space and (word or text[0] not in tight)))
            self.space = text not in ("<", "(", "{", "[")
            self.after_mark = not (text[0].isalpha() or text[0] == "_")

    def _use(self, token: str) -> Use:
        kind = token.partition("(")[0] if token[0] != "$" else ""
        names = names_in(token)
        if not names:
            raise TypeError(f"{self.opdef.mnemonic}: the format is wrong at {token!r}")
        if kind not in KINDS:
            raise TypeError(f"{self.opdef.mnemonic}: the format has an unknown form {kind!r}")
        fields = [self.opdef.field(name) for name in names]
        return Use(kind, fields[0], self.space or not self.after_mark, fields[1] if len(fields) > 1 else None)

    def _group(self, pieces: tuple[Piece, ...], anchor: Field | None) -> Group:
        if anchor is None:
            raise TypeError(f"{self.opdef.mnemonic}: a group in the format has no anchor")
        return Group(pieces, anchor)

    def _oilist(self) -> AnyOrder:
        groups: list[Group] = []
        end = "|"
        while end == "|":
            pieces, anchor, end = self.read()
            groups.append(self._group(pieces, anchor))
        return AnyOrder(tuple(groups))


_PIECES: dict[type[Op], tuple[Piece, ...]] = {}


def pieces_of(cls: type[Op]) -> tuple[Piece, ...]:
    """Return the pieces of an operation's format. They are cached.

    >>> from tilery.ops import NegI
    >>> [p.text for p in pieces_of(NegI) if isinstance(p, Literal)]
    [':']
    """
    found = _PIECES.get(cls)
    if found is None:
        found = _PIECES[cls] = read_format(cls.opdef, cls.opdef.format)
    return found


def read_format(opdef: OpDef, text: str) -> tuple[Piece, ...]:
    """Return the pieces of any format for an operation."""
    return _Reader(opdef, text).read()[0]


def literals(pieces: tuple[Piece, ...]) -> set[str]:
    """Return the words that a format has."""
    found: set[str] = set()
    for piece in pieces:
        match piece:
            case Literal(text) if text[0].isalpha():
                found.add(text)
            case Group(inner):
                found |= literals(inner)
            case AnyOrder(groups):
                found |= {word for group in groups for word in literals(group.pieces)}
            case Use("rounding" | "inbounds" as kind):
                found.add(kind)
    return found

"""The tile code of a file that has host code too: everything else becomes spaces, so that lines keep their numbers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .tokens import CppToken, CppTokens, declarations, tokens

SIMT = "__global__"
TILE = frozenset(["__tile_global__", "__tile__"])
DEVICE = frozenset(
    [*TILE, "__device__", "__constant__", "constexpr", "consteval", "constinit", "concept", "static_assert"]
)
"""Words of declarations that a device compiler takes."""
_DEFINE = re.compile(r"#\s*define\s+(\w+)(.*)", re.S)
_WORD = re.compile(r"\w+")
_INCLUDE = re.compile(r'#\s*include\s*(?:"([^"\n]+)"|<([^>\n]+)>)')
_NOT_NEWLINE = re.compile(r"[^\n]")
MAX_HEADERS = 1000


@dataclass
class SourceFile:
    """A file of a program: its text, and its declarations that are not tile code, each with the span to blank."""

    file: str
    text: str
    host: list[tuple[int, int]] = field(default_factory=list)
    """Spans of declarations that only a host compiler takes."""
    maybe: list[tuple[int, int]] = field(default_factory=list)
    """Spans of declarations that may be host code: the compiler decides."""
    main: bool = False
    """Whether it defines `main`."""

    @property
    def tile_text(self) -> str:
        """The text with host code blanked."""
        return blank(self.text, self.host)

    def drop(self, line: int) -> bool:
        """Take the declaration at a line for host code if it may be; whether it was."""
        for span in self.maybe:
            if self.text.count("\n", 0, span[0]) < line <= self.text.count("\n", 0, span[1]) + 1:
                self.maybe.remove(span)
                self.host.append(span)
                return True
        return False


def blank(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace spans by spaces; line breaks stay.

    >>> blank("int f();\\nint g();", [(0, 8)])
    '        \\nint g();'
    """
    parts, at = [], 0
    for start, end in sorted(spans):
        parts += [text[at:start], _NOT_NEWLINE.sub(" ", text[start:end])]
        at = max(at, end)
    return "".join([*parts, text[at:]])


@dataclass
class Sources:
    """A program: its file, and the headers of its own that it includes, by the names in their `#include`."""

    main: SourceFile
    headers: dict[str, SourceFile] = field(default_factory=dict)

    @property
    def all(self) -> list[SourceFile]:
        return [self.main, *self.headers.values()]

    @property
    def is_mixed(self) -> bool:
        """Whether there is host code."""
        return any(source.host for source in self.all)

    def drop(self, file: str, line: int) -> bool:
        """Take the declaration at a line of a file for host code if it may be; whether it was."""
        return any(source.file == file and source.drop(line) for source in self.all)


def read_sources(file: str, text: str, folders: Sequence[str], system: Sequence[str] = ()) -> Sources:
    """Read a file and the headers that it includes, from `folders` and by quoted names from its own folder.

    Headers in angle brackets that the folders of `system` have are the compiler's, not the program's.
    """
    texts = {"": (file, text)}
    work = [(file, text)]
    while work and len(texts) < MAX_HEADERS:
        current, content = work.pop()
        for quoted, angled in _INCLUDE.findall(content):
            name, own = quoted or angled, [os.path.dirname(current)] if quoted else []
            if name in texts or (angled and find_header(name, system)):
                continue
            if (path := find_header(name, [*own, *folders])) is not None:
                texts[name] = path, Path(path).read_text("utf-8", "surrogateescape")
                work.append(texts[name])
    split = {name: (path, content, tokens(content)) for name, (path, content) in texts.items()}
    macros = tile_macros(token for *_, found in split.values() for token in found)
    sources = {name: sort_source(path, content, found, macros) for name, (path, content, found) in split.items()}
    return Sources(sources.pop(""), sources)


def find_header(name: str, folders: Sequence[str]) -> str | None:
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return os.path.abspath(path)
    return None


def tile_macros(found: Iterable[CppToken]) -> set[str]:
    """Return the names of macros that expand to tile annotations.

    >>> sorted(tile_macros(tokens("#define A __tile__\\n#define B A inline\\n#define C 1")))
    ['A', 'B']
    """
    names = set(TILE)
    for token in found:
        if (
            token.kind == "directive"
            and (define := _DEFINE.match(token.text))
            and names & set(_WORD.findall(define[2]))
        ):
            names.add(define[1])
    return names - TILE


def sort_source(file: str, text: str, found: CppTokens, macros: set[str]) -> SourceFile:
    """Find the host code of a file. `macros` are names that stand for tile annotations."""
    source = SourceFile(file, text)
    for declaration in declarations(found):
        head = {token.text for token in found[declaration.start : declaration.head_end]}
        span = found[declaration.start].start, found[declaration.end - 1].end
        if TILE & head or macros & head:
            continue
        if declaration.parameters is None or (DEVICE & head and SIMT not in head):
            source.maybe.append(span)
            continue
        source.host.append(span)
        is_main = found[declaration.parameters - 1].text == "main" and declaration.head_end < declaration.end
        source.main = source.main or is_main
    return source

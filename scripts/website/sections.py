"""The search index of the site: the words of each section of each page, with how often they occur.

Sphinx's own index knows which pages have a word, not how often nor where, and a page may be long. Here the section that
is about a question counts, and `theme/scorer.js` ranks with real numbers (BM25). The index takes the place of Sphinx's
words in `searchindex.js`, so that the search still works from files.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import snowballstemmer

SYNONYMS = Path(__file__).with_name("synonyms.toml")
WORD = re.compile(r"[^\W_]+(?:_[^\W_]+)*")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
HEADINGS = ("h1", "h2", "h3", "h4")
UNREAD = ("script", "style", "svg")
INLINE = ("a", "em", "span", "strong")
EMPTY = ("br", "col", "hr", "img", "input", "link", "meta", "source", "wbr")
stem = snowballstemmer.stemmer("english").stemWord


@dataclass(slots=True)
class Section:
    """A heading and the text under it, without the sections inside."""

    anchor: str
    heading: str = ""
    text: str = ""


@dataclass(slots=True)
class Open:
    """An element that has begun."""

    tag: str
    section: Section | None = None
    hidden: bool = False


@dataclass
class Reader(HTMLParser):
    """The sections of a page."""

    sections: list[Section] = field(default_factory=list)
    stack: list[Open] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "img":
            self.handle_data(f" {found.get('alt') or ''} ")
        if tag in EMPTY:
            return
        section = None
        if tag == "section" or found.get("role") == "main":
            section = Section(found.get("id") or "")
            self.sections.append(section)
        self.stack.append(Open(tag, section, tag in UNREAD or "headerlink" in (found.get("class") or "")))

    def handle_endtag(self, tag: str) -> None:
        if any(o.tag == tag for o in self.stack):
            while self.stack.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        if any(o.hidden for o in self.stack):
            return
        section = next((o.section for o in reversed(self.stack) if o.section), None)
        if section is None:
            return
        if any(o.tag in HEADINGS for o in self.stack):
            section.heading += data
        else:
            section.text += data if self.stack[-1].tag in INLINE else f"{data} "


def read(html: str) -> list[Section]:
    """Return the sections of a page in order."""
    reader = Reader()
    reader.feed(html)
    return [s for s in reader.sections if s.heading.strip() or s.text.strip()]


def words(text: str) -> list[str]:
    """Return the stems of the words of a text; a name such as `load_view_tko` is a word, and so are its parts."""
    found = []
    for match in WORD.finditer(text):
        name = match.group()
        found.append(stem(name.lower()))
        parts = [part for piece in name.split("_") for part in PART.findall(piece)]
        if len(parts) > 1:
            found += [stem(part.lower()) for part in parts if len(part) > 1]
    return found


def synonyms() -> list[list[str]]:
    """Return groups of stems that mean the same to a reader who searches."""
    groups: list[list[str]] = tomllib.loads(SYNONYMS.read_text("utf-8"))["groups"]
    return [[stem(word) for word in group] for group in groups]


def index(folder: Path, names: list[str]) -> dict[str, Any]:
    """Count the words of all sections of the pages that Sphinx has named."""
    sections: list[list[Any]] = []
    lengths: list[int] = []
    headings: dict[str, list[int]] = {}
    texts: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        for n, section in enumerate(read((folder / f"{name}.html").read_text("utf-8"))):
            here = len(sections)
            sections.append([number, "#" + section.anchor if n and section.anchor else "", section.heading.strip()])
            counted = Counter(words(section.text))
            lengths.append(counted.total())
            for word in dict.fromkeys(words(section.heading)):
                headings.setdefault(word, []).append(here)
            for word, count in counted.items():
                texts.setdefault(word, []).extend((here, count))
    return {"sections": sections, "lengths": lengths, "headings": headings, "texts": texts, "synonyms": synonyms()}


def write(folder: Path) -> None:
    """Replace the words in `searchindex.js` by those of the sections."""
    path = folder / "searchindex.js"
    text = path.read_text("utf-8")
    known = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    known |= index(folder, known["docnames"]) | {"terms": {}, "titleterms": {}, "indexentries": {}}
    path.write_text(f"Search.setIndex({json.dumps(known, separators=(',', ':'), ensure_ascii=False)})", "utf-8")

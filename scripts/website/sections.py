"""The search index of the site: the words of each section of each page, with how often they occur.

Sphinx's own index knows which pages have a word, not how often nor where, and a page may be long. Here the section that
is about a question counts, and `theme/scorer.js` ranks with real numbers (BM25). The index takes the place of Sphinx's
words in `searchindex.js`, so that the search still works from files.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import snowballstemmer

SYNONYMS = Path(__file__).with_name("synonyms.toml")
WORD = re.compile(r"[^\W_]+(?:_[^\W_]+)*")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
HEADING = 3
"""Mentions in the text that one in the heading counts as."""
LINKS = 2
"""A row of a table with more links is about none of them."""
ASKED = "reports/lab/site"
"""The page with the questions that tests ask. It would be found by each of them."""
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
    """An element that has begun. A link has its target and its text, a row of a table its text and its links."""

    tag: str
    section: Section | None = None
    hidden: bool = False
    link: str = ""
    text: str = ""
    links: list[str] = field(default_factory=list)


@dataclass
class Reader(HTMLParser):
    """The sections of a page, and its links with what is said about them: their text, or the row of the table."""

    sections: list[Section] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
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
        hidden = tag in UNREAD or "headerlink" in (found.get("class") or "")
        inside = any(o.section for o in self.stack)
        self.stack.append(Open(tag, section, hidden, (inside and tag == "a" and found.get("href")) or ""))

    def handle_endtag(self, tag: str) -> None:
        if any(o.tag == tag for o in self.stack):
            while (closed := self.stack.pop()).tag != tag:
                pass
            row = next((o for o in reversed(self.stack) if o.tag == "tr"), None)
            if closed.link and row:
                row.links.append(closed.link)
            elif closed.link:
                self.links.append((closed.link, closed.text))
            if len(closed.links) <= LINKS:
                self.links += [(link, closed.text) for link in closed.links]

    def handle_data(self, data: str) -> None:
        if any(o.hidden for o in self.stack):
            return
        for o in self.stack:
            if o.tag in ("a", "tr"):
                o.text += f"{data} "
        section = next((o.section for o in reversed(self.stack) if o.section), None)
        if section is None:
            return
        if any(o.tag in HEADINGS for o in self.stack):
            section.heading += data
        else:
            section.text += data if self.stack[-1].tag in INLINE else f"{data} "


def read(html: str) -> Reader:
    """Return the sections of a page in order, and its links."""
    reader = Reader()
    reader.feed(html)
    reader.sections = [s for s in reader.sections if s.heading.strip() or s.text.strip()]
    return reader


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
    counts: list[Counter[str]] = []
    titles: dict[str, list[int]] = {}
    places: dict[str, int] = {}
    said: dict[tuple[str, str], set[str]] = {}
    for number, name in enumerate(names):
        if name == ASKED:
            continue
        page = read((folder / f"{name}.html").read_text("utf-8"))
        for n, section in enumerate(page.sections):
            places.setdefault(name, len(sections))
            places[f"{name}#{section.anchor}"] = len(sections)
            sections.append([number, "#" + section.anchor if n and section.anchor else "", section.heading.strip()])
            counted, heading = Counter(words(section.text)), words(section.heading)
            lengths.append(counted.total())
            counts.append(counted + Counter(heading * HEADING))
            if not n:
                for word in dict.fromkeys(heading):
                    titles.setdefault(word, []).append(number)
        for link, text in page.links:
            said.setdefault((name, _target(name, link)), set()).update(words(text))
    for (_, place), mentioned in said.items():
        if place in places:
            counts[places[place]].update(mentioned)
    found: dict[str, list[int]] = {}
    for here, counted in enumerate(counts):
        for word, count in counted.items():
            found.setdefault(word, []).extend((here, count))
    return {"sections": sections, "lengths": lengths, "inTitles": titles, "texts": found, "synonyms": synonyms()}


def _target(name: str, link: str) -> str:
    """Return the page and the anchor that a link on a page leads to."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return link
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), parts.path)) if parts.path else name
    return path.removesuffix(".html") + (f"#{parts.fragment}" if parts.fragment else "")


def write(folder: Path) -> None:
    """Replace the words in `searchindex.js` by those of the sections."""
    path = folder / "searchindex.js"
    text = path.read_text("utf-8")
    known = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    known |= index(folder, known["docnames"]) | {"terms": {}, "titleterms": {}, "indexentries": {}}
    path.write_text(f"Search.setIndex({json.dumps(known, separators=(',', ':'), ensure_ascii=False)})", "utf-8")

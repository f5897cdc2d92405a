"""Steps after the pages are built: `llms.txt`, and a check of links, anchors and pictures."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SKIPPED = ("genindex.html", "search.html", "py-modindex.html")


class Page(HTMLParser):
    """The links, anchors and pictures of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.undescribed: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.anchors.add(found["id"] or "")
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if tag == "img":
            self.links.append(found.get("src") or "")
            if not (found.get("alt") or "").strip():
                self.undescribed.append(found.get("src") or "")


def check(folder: Path) -> list[str]:
    """List links that lead nowhere, and pictures without a description."""
    pages = {path: Page(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    wrong = []
    for path, page in sorted(pages.items()):
        name = path.relative_to(folder)
        wrong += [f"{name}: the picture {src} has no description" for src in page.undescribed]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if "/../" in f"/{link}" and not target.is_relative_to(folder.resolve()):
                continue  # another version, which is beside this one
            if not target.exists():
                wrong.append(f"{name}: {link} does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{name}: {link} has no such place")
    return wrong


def write_llms(source: Path, out: Path) -> None:
    """Write `llms.txt`, which lists the pages for language models, with their Markdown beside them."""
    lines = [
        "# tilery",
        "",
        "> Read, write, check, optimise and run CUDA Tile IR in Python, with or without a GPU.",
        "",
    ]
    groups: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.md")):
        name = path.relative_to(source)
        if name.parts[0] in ("files", "_templates"):
            continue
        text = path.read_text("utf-8")
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, "utf-8")
        title = re.search(r"^# (.+)$", text, re.M)
        group = name.parts[0] if len(name.parts) > 1 else "start"
        groups.setdefault(group, []).append(f"- [{title[1] if title else name.stem}]({name}): {_summary(text)}")
    for group, items in sorted(groups.items(), key=lambda item: (item[0] != "start", item[0])):
        lines += [f"## {group.capitalize()}", "", *items, ""]
    (out / "llms.txt").write_text("\n".join(lines), "utf-8")


def _summary(text: str) -> str:
    """Return the first sentence of a page."""
    body = re.sub(r"<!--.*?-->|^```.*?^```$|^[#|!>*].*$", "", text, flags=re.M | re.S)
    paragraph = next((p for p in re.split(r"\n\s*\n", body) if p.strip()), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    return re.split(r"(?<=[.:]) ", plain)[0][:200]

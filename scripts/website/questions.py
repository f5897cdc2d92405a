"""Ask the search of the built site the questions of tests/site_questions.toml, and write docs/reports/lab/site.md.

    python scripts/website/questions.py [--report docs/reports/lab/site.md]

It needs Node and a built site (`make site`). Node executes the site's own scripts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
QUESTIONS = ROOT / "tests" / "site_questions.toml"
REPORT = ROOT / "docs" / "reports" / "lab" / "site.md"
HTML = ROOT / "build" / "site" / "html"
FIRST = 3
"""Results that a reader looks at."""
SETS = {
    "open": "open, looked at while the ranking was made",
    "seen": "held out until the index had sections (18 were answered then), seen since",
    "asked": "written by somebody who had not seen the search or its words (13 were answered then), seen since",
    "fresh": "held out from users' words while the ranking was changed (19 were answered then), seen since",
    "last": "the same, for the changes since, and asked once",
}
"""The sets of questions."""


def questions() -> list[dict[str, Any]]:
    """Return the questions with the pages that answer them."""
    found: list[dict[str, Any]] = tomllib.loads(QUESTIONS.read_text("utf-8"))["question"]
    return found


def ask(html: Path, words: list[str]) -> list[list[str]]:
    """Return the pages that the search finds for each question, the best first; a page occurs once."""
    script = Path(__file__).with_name("search.mjs")
    done = subprocess.run(["node", script, html], input=json.dumps(words), capture_output=True, text=True, check=True)
    return [list(dict.fromkeys(pages)) for pages in json.loads(done.stdout)]


def page(asked: list[dict[str, Any]], found: list[list[str]], pages: int) -> str:
    """Return the report."""
    lines = [
        "# The search of the site",
        "",
        "`scripts/website/questions.py` wrote this page.",
        f"The search of the site, {pages} pages, was asked {len(asked)} questions. An answer counts if it is one of",
        f"the first {FIRST} results. The first ten questions are what newcomers looked for.",
        "",
        "| Questions | Asked | Answered |",
        "|---|--:|--:|",
    ]
    for name, meaning in SETS.items():
        answers = [bool(set(results[:FIRST]) & set(q["pages"])) for q, results in zip(asked, found) if q["set"] == name]
        lines.append(f"| {meaning} | {len(answers)} | {sum(answers)} |")
    lines += [
        "",
        "A section is ranked by the words that it has and by what links to it say, a page by its best section and",
        "as a whole. `scripts/website/sections.py` makes the index, and `scripts/website/synonyms.toml` groups words",
        "that mean the same. The last set was committed before the ranking, the synonyms and some guides were changed",
        "for the sets above it, by the same author. Nothing was changed after it had been asked.",
        "",
        "| Question | Set | First three pages | Place of the answer |",
        "|---|---|---|--:|",
    ]
    for q, results in zip(asked, found):
        place = next((str(n + 1) for n, name in enumerate(results) if name in q["pages"]), "-")
        shown = ", ".join(f"`{name}`" for name in results[:FIRST]) or "none"
        lines.append(f"| {q['ask']} | {q['set']} | {shown} | {place} |")
    lines += [
        "",
        "Reproduce: `make site`, then `python scripts/website/questions.py`. Node runs the site's own scripts.",
        "",
        "## Not measured",
        "",
        "What real readers type, and whether they find the answer on the page.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--html", type=Path, default=HTML, help="the built site; default: build/site/html")
    parser.add_argument("--report", type=Path, default=REPORT)
    args = parser.parse_args()
    asked = questions()
    found = ask(args.html, [q["ask"] for q in asked])
    count = sum(1 for _ in args.html.rglob("*.html"))
    args.report.write_text(page(asked, found, count), "utf-8")
    missed = [q["ask"] for q, results in zip(asked, found) if not set(results[:FIRST]) & set(q["pages"])]
    print(f"{len(asked) - len(missed)} of {len(asked)} answered", *missed, sep="\n  ", file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())

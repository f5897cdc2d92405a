"""The reference manual as Markdown files. `python -m tilery.docs` rewrites them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from .describe import groups
from .markdown import slug
from .operations import chapter_page, index_page, names_page
from .tables import attributes_page, enums_page, execution_page, types_page, versions_page

HEADER = "<!-- Made by `python -m tilery.docs` from the tables in src/tilery. Do not edit. -->\n"


def pages() -> dict[str, str]:
    """Return every generated page by its path below docs/reference."""
    from ..lint.pages import pages as lint_pages  # needs NumPy

    chapters = groups()
    made: dict[str, Iterator[str]] = {
        "types.md": types_page(),
        "attributes.md": attributes_page(),
        "enums.md": enums_page(),
        "versions.md": versions_page(),
        "names.md": names_page(chapters),
        "execution.md": execution_page(),
        "operations/index.md": index_page(chapters),
    }
    for group, opdefs in chapters.items():
        made[f"operations/{slug(group)}.md"] = chapter_page(group, opdefs)
    made.update((f"lint/{name}", lines) for name, lines in lint_pages().items())
    return {path: HEADER + "\n" + "\n".join(lines).rstrip("\n") + "\n" for path, lines in made.items()}


def stale(folder: Path) -> list[str]:
    """List the pages below `folder` that differ from the tables, are missing, or should not exist."""
    made = pages()
    found = {str(p.relative_to(folder)).replace("\\", "/"): p.read_text("utf-8") for p in folder.rglob("*.md")}
    return sorted(path for path in {*made, *found} if made.get(path) != found.get(path))


def main(argv: list[str] | None = None) -> int:
    """Rewrite the pages, or with --check list the stale ones."""
    parser = argparse.ArgumentParser(prog="python -m tilery.docs", description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/reference"), help="default: docs/reference")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a page is stale")
    args = parser.parse_args(argv)
    old = stale(args.folder)
    if args.check:
        for path in old:
            sys.stderr.write(f"stale: {args.folder / path}\n")
        return int(bool(old))
    made = pages()
    for path in old:
        target = args.folder / path
        if path not in made:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(made[path], "utf-8")
    sys.stdout.write(f"{len(made)} pages, {len(old)} rewritten\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

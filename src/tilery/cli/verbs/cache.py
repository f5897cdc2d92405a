"""`tilery cache`: what engines have compiled and kept on disk."""

from __future__ import annotations

import argparse

from ..files import write_output
from ..options import Verbs
from ..output import as_json


def add(verbs: Verbs) -> None:
    sub = verbs.add("cache", run, ["cache", "cache --clear"], json_result=True)
    sub.add_argument("--clear", action="store_true", help="remove all entries")


def run(args: argparse.Namespace) -> int:
    """Show or clear what engines have compiled and kept on disk."""
    from ...engines.cache import CACHES, DiskCache

    facts = []
    for name in CACHES:
        cache = DiskCache(name)
        removed = cache.clear() if args.clear else None
        found = cache.usage()
        fact: dict[str, object] = {"engine": name, "path": found.path, "entries": found.entries, "bytes": found.size}
        if found.problem:
            fact["problem"] = found.problem
        if removed is not None:
            fact["removed"] = removed
        facts.append(fact)
    write_output("-", as_json({"caches": facts}) if args.json else "".join(map(describe, facts)))
    return 0


def describe(fact: dict[str, object]) -> str:
    """Return a line for a cache, and one for what keeps it from being used."""
    kept = f"{fact['entries']} entries, {fact['bytes']:,} bytes"
    removed = f", {fact['removed']} removed" if "removed" in fact else ""
    problem = f"  not used: {fact['problem']}\n" if "problem" in fact else ""
    return f"{fact['engine']}: {kept}{removed}, in {fact['path'] or 'no directory'}\n{problem}"

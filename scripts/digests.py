"""The digests of tests/golden: accept a change, show it, or renew the stored inputs.

    python scripts/digests.py bless [GROUP...]
    python scripts/digests.py diff [GROUP...] [--against REVISION]
    python scripts/digests.py show GROUP ROW
    python scripts/digests.py times

`bless` writes the digests of the present state; look at `diff` first: it computes the rows that differ again with the
sources of a revision, HEAD unless given, and prints what was removed and added. Nothing but a person decides whether a
change is right.
"""

from __future__ import annotations

import argparse
import difflib
import json
import subprocess
import sys
import tempfile
import time
from multiprocessing import Pool

import checkout

sys.path.insert(0, str(checkout.ROOT / "tests"))
import golden.rooms  # the path is set above
from golden.table import GROUPS, OPEN, differing, digest, load, save

__all__ = ["golden"]
SHOWN = 40
"""The most rows of a group that `diff` shows."""


def bless(names: list[str]) -> int:
    table = {name: rows for name, rows in load().items() if name in GROUPS}
    with Pool() as pool:
        made = dict(zip(names, pool.map(digests, names, 1)))
    for name, rows in made.items():
        known = table.get(name, [])
        table[name] = [OPEN if at < len(known) and known[at] == OPEN else row for at, row in enumerate(rows)]
    save(table)
    return 0


def digests(name: str) -> list[str]:
    return [digest(text) for text in GROUPS[name]()]


def changed(names: list[str]) -> dict[str, dict[int, str]]:
    """Return the rows that differ from the table, by group and number."""
    table = load()
    found = {name: dict(differing(name, table.get(name, []))) for name in names}
    return {name: rows for name, rows in found.items() if rows}


def diff(names: list[str], revision: str) -> int:
    """Print the rows that differ, as they are and as a revision makes them."""
    now = changed(names)
    if not now:
        print("nothing differs")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", revision, "src"], cwd=checkout.ROOT, check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        wanted = json.dumps({name: list(rows)[:SHOWN] for name, rows in now.items()})
        paths = [f"{folder}/src", str(checkout.ROOT / "tests"), str(checkout.ROOT / "scripts")]
        code = f"import sys; sys.path[:0] = {paths!r}; import digest_rows; digest_rows.main()"
        out = subprocess.run(
            [sys.executable, "-c", code.replace("digest_rows", "parts.digest_rows")],
            input=wanted, check=True, capture_output=True, text=True, cwd=checkout.ROOT,
        ).stdout  # fmt: skip
    before = json.loads(out)
    for name, rows in now.items():
        for number in list(rows)[:SHOWN]:
            old, new = before[name].get(str(number), ""), rows[number]
            head = f"{name} {number}"
            print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), head, head, lineterm="", n=1)))
        print(f"{name}: {len(rows)} rows differ", file=sys.stderr)
    return 1


def show(name: str, number: int) -> int:
    for at, text in enumerate(GROUPS[name]()):
        if at == number:
            print(text)
            return 0
    return 1


def times(names: list[str]) -> int:
    for name in names:
        started = time.process_time()
        count = sum(1 for _ in GROUPS[name]())
        print(f"{time.process_time() - started:6.2f} s {count:5} rows {name}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("bless", "diff", "times"):
        sub = verbs.add_parser(verb)
        sub.add_argument("groups", nargs="*", metavar="GROUP")
        if verb == "diff":
            sub.add_argument("--against", default="HEAD")
    sub = verbs.add_parser("show")
    sub.add_argument("group")
    sub.add_argument("row", type=int)
    args = parser.parse_args()
    if args.verb == "show":
        return show(args.group, args.row)
    names = [name for name in sorted(GROUPS) if not args.groups or any(name.startswith(each) for each in args.groups)]
    if args.verb == "diff":
        return diff(names, args.against)
    return bless(names) if args.verb == "bless" else times(names)


if __name__ == "__main__":
    sys.exit(main())

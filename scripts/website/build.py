"""Build the site: `make site`, or `python scripts/website/build.py`. It needs `pip install '.[site]'` and no network.

The result is in build/site/html: HTML pages with a search that works from files, and `llms.txt`. A warning of Sphinx, a
link that leads nowhere, or a picture without a description is an error.

SITE_VERSION names the version that is built, SITE_VERSIONS all versions that are beside each other, with commas.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

from website.assemble import assemble  # noqa: E402  # found only now
from website.pages import check, write_llms  # noqa: E402
from website.sections import write as write_sections  # noqa: E402

BUILD = ROOT / "build" / "site"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=BUILD, help="default: build/site")
    args = parser.parse_args()
    started = time.monotonic()
    source, out = args.folder / "source", args.folder / "html"
    assemble(source)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "scripts"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-j", "auto"]
    done = subprocess.run([*command, str(source), str(out)], env={**os.environ, "PYTHONPATH": path}, check=False)
    if done.returncode:
        return done.returncode
    write_llms(source, out)
    write_sections(out)
    wrong = check(out)
    for line in wrong:
        print(line, file=sys.stderr)
    pages = sum(1 for _ in out.rglob("*.html"))
    print(f"{pages} pages in {out}, {len(wrong)} faults, {time.monotonic() - started:.0f} seconds")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())

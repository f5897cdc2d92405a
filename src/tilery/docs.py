"""`python -m tilery.docs` rewrites the reference pages; the code is in `tilery.manual`."""

from __future__ import annotations

from .manual.pages import main

if __name__ == "__main__":
    raise SystemExit(main())

"""Which code a campaign ran on, also where there is no repository."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import checkout

ENGINE = checkout.ROOT / "src" / "tilery" / "engines" / "cpu"


def engine_code() -> str:
    """Return the start of git's name for the content of the folder of engine cpu."""
    return tree(ENGINE).hex()[:12]


def tree(folder: Path) -> bytes:
    """Return git's name for the content of a folder."""
    rows = []
    for path in folder.iterdir():
        if path.name == "__pycache__":
            continue
        if path.is_dir():
            rows.append((path.name + "/", b"40000", path.name, tree(path)))
        else:
            mode = b"100755" if os.access(path, os.X_OK) else b"100644"
            rows.append((path.name, mode, path.name, named(b"blob", path.read_bytes())))
    return named(b"tree", b"".join(b"%s %s\0%s" % (mode, name.encode(), made) for _, mode, name, made in sorted(rows)))


def named(kind: bytes, content: bytes) -> bytes:
    return hashlib.sha1(b"%s %d\0%s" % (kind, len(content), content), usedforsecurity=False).digest()

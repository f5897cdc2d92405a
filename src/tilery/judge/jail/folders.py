"""Folders that a candidate has filled: however deep they are and whatever their permissions, they can be removed."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress

FILE = 512
"""The least bytes that a file or folder counts for; the file system says 0 of those without content."""
ENDLESS = 1 << 62
"""The bytes of a folder in which paths are too long to look at."""


def folder_bytes(folder: str) -> int:
    """Return the bytes of all files in a folder."""
    total, work = 0, [folder]
    while work:
        place = work.pop()
        try:
            with os.scandir(place) as entries:
                for each in entries:
                    total += FILE
                    if each.is_dir(follow_symlinks=False):
                        work.append(each.path)
                    else:
                        total += each.stat(follow_symlinks=False).st_blocks * 512
        except OSError as error:  # most often, it has gone
            if error.errno == errno.ENAMETOOLONG:
                return ENDLESS
    return total


def remove_folder(folder: str) -> None:
    """Remove a folder and all that is in it, or as much as can be.

    `shutil.rmtree` calls itself for each folder in a folder, and paths have a limit too. Here, what is in a folder is
    moved up before the folder goes.
    """
    with suppress(OSError):
        removed = True
        while removed:
            removed = False
            for each in list(os.scandir(folder)):
                removed |= _remove(each, folder)
        os.rmdir(folder)


def _remove(entry: os.DirEntry[str], top: str) -> bool:
    """Remove a file, or a folder whose own folders are moved to the top; tell whether that worked."""
    with suppress(OSError):
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
            return True
        os.chmod(entry.path, 0o700)
        for inner in list(os.scandir(entry.path)):
            if inner.is_dir(follow_symlinks=False):
                os.chmod(inner.path, 0o700)  # else it could not be moved
                os.rename(inner.path, os.path.join(top, secrets.token_hex(16)))
            else:
                os.unlink(inner.path)
        os.rmdir(entry.path)
        return True
    return False

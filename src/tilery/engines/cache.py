"""A cache of compiled code on disk, in a directory that only the user can write.

Code from the cache is loaded into the process, so a cache that another user could have written is never used: the
directory must be a real directory (not a link) that belongs to the user and has mode 0700. Everything is opened
relative to that directory, without following links, after it was checked.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "TILERY_CACHE_DIR"
"""The environment variable that names another directory. If it is empty, nothing is cached."""
CACHES = ("cpu", "triton")
"""The caches that there are: one per engine that compiles."""
LIMIT = 256 << 20
"""Bytes that the entries of one engine may take together; the ones that were not used for longest are removed."""
ROOM = 8
"""When entries are removed, one part of so many becomes free, so that this need not happen again at once."""
GROWTH = "growth"
"""A file in the directory that grows by a byte for each page of an entry. Listing all entries takes longer the more
there are, so this is done only when the size of this file says that they may take too much."""
PAGE = 4096
MAGIC = b"tilery\x00\x01"
DIGEST = hashlib.sha256().digest_size
FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Of every file that is opened: no link is followed, no pipe is waited for."""
_SAFE = hasattr(os, "geteuid") and os.open in os.supports_dir_fd


class Unsafe(Exception):
    """The directory cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The content of an engine's cache. `problem` says why it is not used, if it is not."""

    path: str
    entries: int = 0
    size: int = 0
    problem: str = ""


def root() -> Path | None:
    """Return the directory of all caches, or None if caching is turned off or the user has no home."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen).absolute() if chosen else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "tilery"
    except RuntimeError:  # HOME is not set, and the system does not know the user
        return None


class DiskCache:
    """Entries by key, as bytes. Nothing here raises: what cannot be read is not there, what cannot be kept is not kept.

    >>> import tempfile
    >>> cache = DiskCache("doctest", Path(tempfile.mkdtemp()) / "tilery")
    >>> cache.put("a key", b"compiled")
    >>> cache.get("a key"), cache.get("another")
    (b'compiled', None)
    >>> cache.clear()
    1
    """

    def __init__(self, name: str, where: Path | None = None, limit: int = LIMIT) -> None:
        self.name, self.limit = name, limit
        self._where = where

    @property
    def where(self) -> Path | None:
        """The directory of all caches, looked up each time, so that a changed environment counts."""
        return self._where or root()

    def get(self, key: str) -> bytes | None:
        """Return what was kept for a key; None if there is nothing, or if it is damaged."""
        with suppress(OSError, Unsafe), self._opened(create=False) as directory:
            name = _file_name(key)
            file = os.open(name, os.O_RDONLY | FLAGS, dir_fd=directory)
            with open(file, "rb") as stream:
                facts = os.fstat(file)
                _check_entry(facts)
                raw = stream.read(min(facts.st_size, self.limit))  # a read takes memory for all that it asks for
            content = raw[len(MAGIC) + DIGEST :]
            if raw == _entry(key, content):
                os.utime(name, dir_fd=directory, follow_symlinks=False)
                return content
        return None

    def put(self, key: str, content: bytes) -> None:
        """Keep something for a key. Another process sees all of it or nothing."""
        if len(content) > self.limit // 4:
            return
        with suppress(OSError, Unsafe), self._opened(create=True) as directory:
            temporary = f"{secrets.token_hex(8)}.new"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with open(os.open(temporary, flags, 0o600, dir_fd=directory), "wb") as stream:
                    size = stream.write(_entry(key, content))
                os.replace(temporary, _file_name(key), src_dir_fd=directory, dst_dir_fd=directory)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=directory)
            if self._may_be_full(directory, size):
                self._trim(directory)

    def usage(self) -> Usage:
        """Describe what the cache holds."""
        where = self.where
        if where is None:
            return Usage("", problem=f"{VARIABLE} is empty, so nothing is cached")
        path = str(where / self.name)
        try:
            with self._opened(create=False) as directory:
                sizes = [size for _, size, _ in _entries(directory)]
            return Usage(path, len(sizes), sum(sizes))
        except FileNotFoundError:
            return Usage(path)
        except Unsafe as reason:
            return Usage(path, problem=str(reason))
        except OSError as error:
            return Usage(path, problem=error.strerror or str(error))

    def clear(self) -> int:
        """Remove all entries and return how many there were."""
        count = 0
        with suppress(OSError, Unsafe), self._opened(create=False) as directory:
            for name, _, _ in _entries(directory):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=directory)
                    count += 1
        return count

    @contextmanager
    def _opened(self, *, create: bool) -> Iterator[int]:
        """Open the directory of this cache after checking it and the one above it. Raises OSError and Unsafe."""
        where = self.where
        if where is None or not _SAFE:
            raise Unsafe("this system has no owners of files" if where else "caching is turned off")
        if create:
            where.parent.mkdir(parents=True, exist_ok=True)
            _make(str(where), None)
        above = _open_directory(str(where), None)
        try:
            if create:
                _make(self.name, above)
            directory = _open_directory(self.name, above)
        finally:
            os.close(above)
        try:
            yield directory
        finally:
            os.close(directory)

    def _may_be_full(self, directory: int, size: int) -> bool:
        """Note that an entry was added; tell whether entries may now take too much, or it is not known how much."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | FLAGS
        try:
            with open(os.open(GROWTH, flags, 0o600, dir_fd=directory), "ab", buffering=0) as stream:
                added = stream.write(bytes(-(-size // PAGE)))
                total = os.fstat(stream.fileno()).st_size
        except OSError:
            return True
        return total == added or total * PAGE > self.limit

    def _trim(self, directory: int) -> None:
        """Remove the entries that were not used for longest if all together take too much."""
        found = sorted(_entries(directory), key=lambda entry: entry[2], reverse=True)
        total = sum(size for _, size, _ in found)
        most = self.limit if total <= self.limit else self.limit - self.limit // ROOM
        while found and total > most:
            name, size, _ = found.pop()
            total -= size
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
        with open(os.open(GROWTH, os.O_WRONLY | FLAGS, dir_fd=directory), "wb", buffering=0) as stream:
            stream.truncate(total // PAGE)


def _file_name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest() + ".bin"


def _entry(key: str, content: bytes) -> bytes:
    """The bytes of a file. The checksum covers the key, so that a file under a wrong name is damaged."""
    return MAGIC + hashlib.sha256(hashlib.sha256(key.encode()).digest() + content).digest() + content


def _entries(directory: int) -> list[tuple[str, int, int]]:
    """List name, size and time of last use of all entries, leftovers of processes that were killed included."""
    found = []
    with os.scandir(directory) as listed:
        for each in listed:
            with suppress(FileNotFoundError):
                status = each.stat(follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode) and each.name != GROWTH:
                    found.append((each.name, status.st_size, status.st_mtime_ns))
    return found


def _make(path: str, above: int | None) -> None:
    with suppress(FileExistsError):
        os.mkdir(path, 0o700, dir_fd=above)


def _open_directory(path: str, above: int | None) -> int:
    """Open a directory without following a link, and check it."""
    if stat.S_ISLNK(os.stat(path, dir_fd=above, follow_symlinks=False).st_mode):
        raise Unsafe("it is a symbolic link")
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        status = os.fstat(opened)
        if status.st_uid != os.geteuid():
            raise Unsafe(f"it belongs to user {status.st_uid}, not to {os.geteuid()}")
        if stat.S_IMODE(status.st_mode) != 0o700:
            raise Unsafe(f"its mode is {stat.S_IMODE(status.st_mode):04o}, not 0700")
    except BaseException:
        os.close(opened)
        raise
    return opened


def _check_entry(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise Unsafe("the entry could have been written by another user")

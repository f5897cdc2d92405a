"""The cache on disk: what goes in comes out, damage is ignored, and a place that others can write is never used."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tilery.engines import cache as cache_module
from tilery.engines.cache import GROWTH, VARIABLE, DiskCache, root

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there is no cache where files have no owners")


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache("cpu", tmp_path / "tilery")


def files(cache: DiskCache) -> list[Path]:
    assert cache.where is not None
    return sorted(file for file in (cache.where / "cpu").iterdir() if file.name != GROWTH)


def test_what_is_kept_comes_back(cache: DiskCache) -> None:
    assert cache.get("k") is None
    for content in (b"one", b"two", b"", bytes(1 << 16)):
        cache.put("k", content)
        assert cache.get("k") == content
    assert cache.usage().entries == 1 and not cache.usage().problem
    assert cache.clear() == 1 and cache.get("k") is None


def test_directories_and_files_belong_to_the_user_alone(cache: DiskCache) -> None:
    cache.put("k", b"x")
    assert cache.where is not None
    (file,) = files(cache)
    assert [p.stat().st_mode & 0o777 for p in (cache.where, cache.where / "cpu", file)] == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("at", [0, 8, 20, 40, -1])
def test_a_damaged_entry_is_ignored(cache: DiskCache, at: int) -> None:
    cache.put("k", b"some code")
    (file,) = files(cache)
    raw = bytearray(file.read_bytes())
    raw[at] ^= 1
    file.write_bytes(raw)
    assert cache.get("k") is None
    cache.put("k", b"some code")
    assert cache.get("k") == b"some code"


def test_every_truncation_is_ignored(cache: DiskCache) -> None:
    cache.put("k", b"code")
    (file,) = files(cache)
    raw = file.read_bytes()
    for length in range(len(raw)):
        file.write_bytes(raw[:length])
        assert cache.get("k") is None


def test_an_entry_under_another_name_is_ignored(cache: DiskCache) -> None:
    cache.put("a", b"1")
    (first,) = files(cache)
    cache.put("b", b"2")
    second = next(f for f in files(cache) if f != first)
    first.write_bytes(second.read_bytes())
    assert cache.get("a") is None and cache.get("b") == b"2"


def link_elsewhere(path: Path) -> None:
    target = path.with_name("elsewhere")
    path.rename(target)
    path.symlink_to(target)


def opened_to(mode: int) -> Callable[[Path], None]:
    return lambda path: path.chmod(mode)


UNSAFE = {
    "world-writable": (opened_to(0o777), "mode is 0777"),
    "group-writable": (opened_to(0o770), "mode is 0770"),
    "readable": (opened_to(0o755), "mode is 0755"),
    "link": (link_elsewhere, "symbolic link"),
}


@pytest.mark.parametrize("folder", ["tilery", "tilery/cpu"])
@pytest.mark.parametrize("spoil, reason", UNSAFE.values(), ids=UNSAFE)
def test_an_unsafe_directory_is_refused(
    tmp_path: Path, cache: DiskCache, folder: str, spoil: Callable[[Path], None], reason: str
) -> None:
    cache.put("k", b"x")
    spoil(tmp_path / folder)
    assert cache.get("k") is None
    before = sorted(p for p in tmp_path.rglob("*.bin"))
    cache.put("other", b"y")
    assert sorted(p for p in tmp_path.rglob("*.bin")) == before, "nothing is written there"
    assert reason in cache.usage().problem and cache.clear() == 0


def test_a_directory_of_somebody_else_is_refused(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put("k", b"x")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert cache.get("k") is None and "belongs to user" in cache.usage().problem


def test_an_entry_that_others_can_write_or_that_is_a_link_is_ignored(cache: DiskCache) -> None:
    cache.put("k", b"x")
    (file,) = files(cache)
    file.chmod(0o666)
    assert cache.get("k") is None
    file.chmod(0o600)
    assert cache.get("k") == b"x"
    target = file.with_name("target")
    file.rename(target)
    file.symlink_to(target)
    assert cache.get("k") is None


def test_a_pipe_in_place_of_an_entry_does_not_block(cache: DiskCache) -> None:
    cache.put("k", b"x")
    (file,) = files(cache)
    file.unlink()
    os.mkfifo(file, 0o600)
    assert cache.get("k") is None


def test_the_size_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    cache = DiskCache("cpu", tmp_path / "tilery", limit=5000)
    for number in range(10):
        cache.put(str(number), bytes(1000))
        for age, file in enumerate(sorted(files(cache), key=lambda f: f.stat().st_mtime_ns, reverse=True)):
            os.utime(file, ns=(0, 10**18 - age * 10**9))
    assert cache.usage().size <= 5000 and cache.get("9") is not None and cache.get("0") is None
    cache.put("large", bytes(2000))
    assert cache.get("large") is None, "an entry that would displace most others is not kept"


def test_entries_are_listed_only_when_they_may_take_too_much(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Or else keeping an entry takes longer the more there are."""
    listed = []
    entries = cache_module._entries

    def listing(directory: int) -> list[tuple[str, int, int]]:
        listed.append(directory)
        return entries(directory)

    monkeypatch.setattr(cache_module, "_entries", listing)
    for number in range(50):
        cache.put(str(number), bytes(10_000))
    assert len(listed) == 1
    small = DiskCache("cpu", tmp_path / "tilery", limit=300_000)
    for number in range(50, 100):
        small.put(str(number), bytes(10_000))
        assert small.usage().size <= 300_000
    assert len(listed) - 51 < 20, "room for several entries is made at once"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/null", path)])
def test_the_size_is_bounded_even_if_nothing_can_be_noted(tmp_path: Path, make: Callable[[Path], None]) -> None:
    cache = DiskCache("cpu", tmp_path / "tilery", limit=5000)
    cache.put("k", b"x")
    (tmp_path / "tilery" / "cpu" / GROWTH).unlink()
    make(tmp_path / "tilery" / "cpu" / GROWTH)
    for number in range(10):
        cache.put(str(number), bytes(1000))
    assert cache.usage().size <= 5000 and cache.get("9") is not None


def test_writers_and_readers_at_once_see_whole_entries(cache: DiskCache) -> None:
    contents = [bytes([n]) * 50_000 for n in range(4)]

    def work(n: int) -> bool:
        cache.put("k", contents[n % 4])
        return cache.get("k") in (None, *contents)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(100)))
    assert not [f for f in files(cache) if f.suffix == ".new"]


def test_the_environment_says_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "here"))
    assert root() == tmp_path / "here"
    monkeypatch.setenv(VARIABLE, "")
    assert root() is None and "nothing is cached" in DiskCache("cpu").usage().problem
    DiskCache("cpu").put("k", b"x")
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert root() == tmp_path / "tilery"


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TILERY_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    nowhere = DiskCache("test")
    nowhere.put("key", b"content")
    assert nowhere.get("key") is None and nowhere.usage().problem


def test_a_place_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = DiskCache("cpu", tmp_path / "file" / "tilery")
    cache.put("k", b"x")
    assert cache.get("k") is None and cache.usage().problem

"""Confine a process: namespaces, read-only files, a private temporary folder, and limits on what it may take."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import filters, system

NOBODY = 65534
HIDDEN = ("/tmp", "/var/tmp", "/run", "/home", "/root", "/mnt", "/media", "/srv")
"""Folders that a candidate has no business in."""
DEVICES = ("null", "zero", "full", "random", "urandom")
MOST_FILES = 1 << 16
"""The most files and folders of a temporary folder. Empty ones take memory of the kernel, which no size limits."""
NAMESPACES = system.NEWUSER | system.NEWNET | system.NEWPID | system.NEWNS | system.NEWIPC


READABLE = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/sys/devices/system/cpu",
)  # fmt: skip
"""Files and folders that a frontend may read, besides Python and its packages."""


@dataclass(frozen=True, slots=True)
class Means:
    """The means that this system has to confine a process."""

    namespaces: bool
    landlock: int
    """The version; 0 if there is none."""
    seccomp: bool

    def describe(self) -> str:
        """Return a sentence for the result of a candidate."""
        parts = []
        if self.namespaces:
            parts.append("namespaces of users, network, processes, mounts and IPC")
        if self.landlock:
            parts.append(f"Landlock {self.landlock}")
        if self.seccomp:
            parts.append("a seccomp filter")
        missing = []
        if not self.namespaces and not self.landlock:
            missing.append("your files are within reach")
        if not self.namespaces and not self.seccomp:
            missing.append("the network is within reach")
        if not self.namespaces and self.landlock < filters.SCOPED_SINCE:
            missing.append("your processes can be killed")
        return "; ".join([", ".join([*parts, "a process group with limits"]), *missing])


def available(namespaces: bool = True) -> Means:
    """Find out what this system offers, each in a process of its own."""
    return Means(
        namespaces and _works(_enter), filters.landlock_version(), _works(lambda: filters.filter_calls() or 1 / 0)
    )


def _enter() -> None:
    become_nobody()
    enter_namespaces()
    inner = os.fork()
    if inner == 0:
        os._exit(0)
    if os.waitpid(inner, 0)[1]:
        raise OSError("a process of a namespace died")


def _works(function: Callable[[], object]) -> bool:
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            function()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def shut(means: Means, work: str) -> None:
    """Give up everything that a frontend does not need, for good. Raise OSError if that fails."""
    system.drop_capabilities()
    if means.landlock:
        # With namespaces, /proc and /dev/shm are private.
        given = [*READABLE, *map(str, needed()), "/proc" if means.namespaces else "/proc/self"]
        writable = [work, *(f"/dev/{name}" for name in DEVICES), *(["/dev/shm"] if means.namespaces else [])]
        if filters.confine_files(given, writable) != means.landlock:
            raise OSError("Landlock refused")
    if means.seccomp and not filters.filter_calls():
        raise OSError("seccomp refused")


def become_nobody() -> None:
    """Change from root to the user `nobody`; only the real user if `nobody` cannot read what a frontend needs.

    The kernel does not limit the number of root's processes. It looks at the real user; access to files follows from
    the effective one.
    """
    if os.geteuid() != 0:
        return
    if not all(readable(path) for path in needed()):
        os.setresuid(NOBODY, 0, 0)
        return
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def readable(path: Path) -> bool:
    """Tell whether every user can read a file or folder."""
    try:
        return bool(path.stat().st_mode & 4) and all(parent.stat().st_mode & 1 for parent in path.parents)
    except OSError:
        return False


def needed() -> list[Path]:
    """Return the files and folders of Python and its packages."""
    found = {sys.prefix, sys.base_prefix, str(Path(__file__).parents[3]), *filter(None, sys.path)}
    return [path for each in sorted(found) if (path := Path(each).resolve()).exists()]


def enter_namespaces() -> None:
    """Move into new namespaces: of users, network, mounts and IPC for this process, of processes for its children."""
    user, group = os.geteuid(), os.getegid()
    system.control(system.DUMPABLE, 1)  # else /proc/self belongs to root, and we could not map ourselves
    system.unshare(NAMESPACES)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    system.control(system.DUMPABLE, 0)


def arrange_files(folder: str, size: int) -> tuple[str, int | None]:
    """Make all files read-only and hide what is private.

    Return a temporary folder that holds `size` bytes. If /proc shows the processes outside, return our number there.
    """
    system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
    root = None
    try:
        system.mount("proc", "/proc", "proc", system.MS_NOSUID | system.MS_NODEV)
    except OSError:  # refused where a container masks parts of /proc
        root = int(os.readlink("/proc/self"))
    keep = needed()
    hidden = [each for each in HIDDEN if _is_free(Path(each), keep)]
    work = "/tmp" if "/tmp" in hidden else folder
    options = f"size={size},mode=755,nr_inodes={MOST_FILES}"
    flags = system.MS_NOSUID | system.MS_NODEV
    system.read_only_everywhere()
    for each in hidden:
        if each != work:
            system.mount("none", each, "tmpfs", flags | system.MS_RDONLY, "size=4096,mode=755")
    system.mount("none", work, "tmpfs", flags, options)
    _arrange_devices(Path(work) / ".dev", size)
    return work, root


def hide_processes() -> None:
    """Replace a /proc that shows the processes outside by an empty folder, for this process only."""
    system.unshare(system.NEWNS)
    system.mount("none", "/proc", "tmpfs", system.MS_RDONLY | system.MS_NOSUID, "size=4096,mode=755")


def _is_free(folder: Path, keep: list[Path]) -> bool:
    return folder.is_dir() and not folder.is_symlink() and not any(path.is_relative_to(folder) for path in keep)


def _arrange_devices(place: Path, size: int) -> None:
    """Replace /dev by one with the harmless devices only: no GPU, no disk, no terminal."""
    place.mkdir()
    system.mount("none", str(place), "tmpfs", system.MS_NOSUID, f"size={size},mode=755,nr_inodes={MOST_FILES}")
    for name in DEVICES:
        (place / name).touch()
        system.mount(f"/dev/{name}", str(place / name), flags=system.MS_BIND)
    (place / "shm").mkdir()
    system.mount(str(place), "/dev", flags=system.MS_MOVE)
    place.rmdir()


def address_space() -> int:
    """Return the bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def limit(seconds: int, memory: int, file: int, processes: int) -> None:
    """Limit what this process and its children may take, each."""
    import resource  # not on Windows, where there is no jail

    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_FSIZE: file,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_NPROC: processes,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for which, bound in bounds.items():
        # The signal of the soft limit tells a lack of processor time from other deaths; the hard one kills.
        hard = bound + 1 if which == resource.RLIMIT_CPU else bound
        with suppress(ValueError, OSError):  # never above a limit that holds already
            resource.setrlimit(which, (bound, hard))


# ---------------------------------------------------------------- watching processes


def processes(root: int | None) -> list[int]:
    """Return the descendants of a process, or all processes that /proc shows."""
    return descendants(root) if root is not None else _all_processes()


def resident(pids: Sequence[int]) -> int:
    """Return the bytes of memory of processes, without files. Pages that several share count for each."""
    return sum(_sum_of(f"/proc/{pid}/status", (b"RssAnon:", b"RssShmem:")) for pid in pids)


def proportional(pids: Sequence[int]) -> int:
    """Return the same bytes, where pages that several share count once; this takes longer."""
    return sum(_sum_of(f"/proc/{pid}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:")) for pid in pids)


def _sum_of(file: str, keys: tuple[bytes, ...]) -> int:
    """Return the sum of some lines of a file in /proc, in bytes; files of processes that have ended count as empty."""
    with suppress(OSError, ValueError, IndexError), open(file, "rb") as lines:
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(keys))
    return 0


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def descendants(root: int) -> list[int]:
    """Return the processes that a process started, directly or not."""
    parents: dict[int, list[int]] = {}
    for pid in _all_processes():
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
            parents.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(pid)
    found: list[int] = []
    work = [root]
    while work:
        inner = parents.get(work.pop(), [])
        found += inner
        work += inner
    return found


def end_descendants(rounds: int = 200) -> None:
    """Kill everything that this process started, until nothing is left. It must be a subreaper."""
    for _ in range(rounds):
        found = descendants(os.getpid())
        if not found:
            return
        for pid in found:  # stop them all before any can fork again
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

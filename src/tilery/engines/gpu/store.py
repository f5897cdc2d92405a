"""The store of the tuner: one JSON file that people can read, with a record for each kernel, shape class and device."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...bytecode.writer import write
from ...diag import ErrorKind, TileError
from ...ops import Module
from ...passes.strip_debug import strip_debug_info
from ...rewrite import Report
from ...rewrite.hints import without_hints
from ...types import Scalar, Tile, Type
from .variants import Variant

VARIABLE = "TILERY_TUNED"
"""The environment variable that names another file. If it is empty, nothing is remembered."""
FORMAT = 1
LIMIT = 64 << 20
"""The most bytes of a store."""
LOWERING = 1
"""Changes when the engines compile the same variant to other code, which makes older records stale."""


@dataclass(frozen=True, slots=True)
class Platform:
    """The machine and the compilers that a record was measured on."""

    device: str
    target: str
    driver: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    """The versions of the compilers."""

    def version(self, engine: str) -> str:
        """Return the version of a compiler; empty if it is not installed."""
        return dict(self.versions).get(engine, "")


@dataclass(frozen=True, slots=True)
class TunedVariant:
    """The best variant of a kernel for a class of shapes, and where that is known from."""

    kernel: str
    """A digest of the module and the entry, without debug information and hints."""
    entry: str
    shapes: str
    """The class of shapes, see `shape_class`."""
    machine: Platform
    variant: Variant
    seconds: float
    """The time of one launch."""
    default_seconds: float = 0.0
    """The time of the default variant in the same run; 0 if it was not measured."""
    tried: int = 0
    date: str = ""
    checked: str = ""
    """The results that its own were compared with."""
    lowering: int = LOWERING

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it."""
        return {**asdict(self), "variant": self.variant.as_dict(), "machine": _plain_machine(self.machine)}

    @staticmethod
    def from_dict(plain: Any) -> TunedVariant:
        """Return the record that `as_dict` wrote; raise TileError for anything else."""
        try:
            machine = dict(plain["machine"])
            versions = tuple(sorted((str(k), str(v)) for k, v in machine.pop("versions").items()))
            made = TunedVariant(
                **{
                    **plain,
                    "variant": Variant.from_dict(plain["variant"]),
                    "machine": Platform(**machine, versions=versions),
                }
            )
            numbers = (made.seconds, made.default_seconds, made.tried, made.lowering)
            texts = (made.kernel, made.entry, made.shapes, made.date, made.checked, made.machine.device)
            if not all(isinstance(n, (int, float)) for n in numbers) or not all(isinstance(t, str) for t in texts):
                raise TypeError("a field has the wrong type")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise TileError(f"this is not a record of the tuner: {error}") from None
        return made


def _plain_machine(machine: Platform) -> dict[str, Any]:
    return {**asdict(machine), "versions": dict(machine.versions)}


# ---------------------------------------------------------------- keys


def kernel_digest(module: Module, entry: str) -> str:
    """Return what identifies a kernel: a digest of its module without debug information and hints, and its name."""
    plain = without_hints(module)
    strip_debug_info(plain, Report())
    return hashlib.sha256(entry.encode() + b"\0" + write(plain, None)).hexdigest()[:32]


def shape_class(grid: Sequence[int], params: Sequence[Type], slots: Sequence[bytes]) -> str:
    """Return the class of a launch: its grid and integer arguments, each rounded down to a power of two.

    Floats and addresses do not matter.

    >>> from tilery.types import I32
    >>> shape_class((132, 1, 1), [Tile((), I32)], [(4096).to_bytes(4, "little")])
    'grid 128 1 1, 4096'
    """
    numbers = []
    for param, slot in zip(params, slots):
        if isinstance(param, Tile) and isinstance(param.element, Scalar) and param.element.is_int:
            numbers.append(_rounded(int.from_bytes(slot, "little", signed=param.element.bits > 1)))
    return ", ".join([f"grid {' '.join(str(_rounded(n)) for n in grid)}", " ".join(map(str, numbers))]).rstrip(", ")


def _rounded(number: int) -> int:
    size = abs(number)
    power = 1 << size.bit_length() - 1 if size else 0
    return power if number >= 0 else -power


# ---------------------------------------------------------------- the file


def default_path() -> Path | None:
    """Return the file of the store, or None if nothing is to be remembered."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen).absolute() if chosen else None
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "share") / "tilery" / "tuned.json"


@dataclass(slots=True)
class VariantStore:
    """The records of a file. `path` None keeps nothing."""

    path: Path | None = field(default_factory=default_path)
    _read: tuple[tuple[int, int] | None, list[TunedVariant]] = field(default=(None, []), repr=False)

    def records(self) -> list[TunedVariant]:
        """Return all records; raise TileError if the file is not a store."""
        if self.path is None:
            return []
        try:
            facts = self.path.stat()
        except OSError:
            return []
        stamp = facts.st_mtime_ns, facts.st_size
        if self._read[0] != stamp:
            self._read = stamp, read_records(self.path)
        return self._read[1]

    def find(self, kernel: str, shapes: str, machine: Platform) -> tuple[TunedVariant | None, str]:
        """Return the record for a launch, and why there is none: a record of another machine is never used."""
        why = "nothing is remembered for this kernel and shape"
        best: TunedVariant | None = None
        for record in self.records():
            if (record.kernel, record.shapes) != (kernel, shapes):
                continue
            problem = stale(record, machine)
            if problem:
                why = problem
            elif best is None or record.date > best.date:
                best = record
        return best, "" if best is not None else why

    def add(self, records: Sequence[TunedVariant]) -> None:
        """Merge records into the file; of two for the same thing, the newer one stays."""
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(self.path):
                write_records(self.path, merge([*read_records(self.path), *records]))
        except OSError as error:
            raise TileError(f"cannot write '{self.path}': {error.strerror}", kind=ErrorKind.FILE) from None


def stale(record: TunedVariant, machine: Platform) -> str:
    """Return why a record does not hold on a machine; empty if it does."""
    engine = record.variant.engine
    if record.machine.device != machine.device or record.machine.target != machine.target:
        return f"what is remembered is for another device, {record.machine.device}"
    if record.machine.version(engine) != machine.version(engine):
        theirs, ours = record.machine.version(engine), machine.version(engine) or "none"
        return f"what is remembered is for {engine} {theirs}, and {ours} is installed"
    return "what is remembered is for another version of tilery" if record.lowering != LOWERING else ""


def merge(records: Sequence[TunedVariant]) -> list[TunedVariant]:
    """Keep the newest record for each kernel, class of shapes, device and versions."""
    best: dict[Any, TunedVariant] = {}
    for record in records:
        key = record.kernel, record.shapes, record.machine
        if key not in best or best[key].date <= record.date:
            best[key] = record
    return sorted(best.values(), key=lambda r: (r.entry, r.shapes, r.machine.device, r.machine.versions))


def read_records(path: Path) -> list[TunedVariant]:
    """Read a store; a missing file has no records."""
    try:
        with open(path, "rb") as file:
            data = file.read(LIMIT + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TileError(f"cannot read '{path}': {error.strerror}", kind=ErrorKind.FILE) from None
    if len(data) > LIMIT:
        raise TileError(f"the store is larger than {LIMIT} bytes", kind=ErrorKind.FILE, file=str(path))
    try:
        plain = json.loads(data)
        if plain["format"] != FORMAT or not isinstance(plain["records"], list):
            raise ValueError(f"format {plain['format']}, expected {FORMAT}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TileError(f"this is not a store of the tuner: {error}", file=str(path)) from None
    return [TunedVariant.from_dict(each) for each in plain["records"]]


def write_records(path: Path, records: Sequence[TunedVariant]) -> None:
    """Write a store, whole or not at all."""
    text = json.dumps({"format": FORMAT, "records": [record.as_dict() for record in records]}, indent=1) + "\n"
    handle, name = tempfile.mkstemp(prefix=".tuned", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock beside a file, where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path.with_suffix(".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def describe(records: Sequence[TunedVariant]) -> list[Mapping[str, str]]:
    """Return rows for a table of records."""
    return [
        {
            "entry": r.entry,
            "shapes": r.shapes,
            "device": r.machine.device,
            "variant": r.variant.label,
            "version": r.machine.version(r.variant.engine),
            "time": f"{r.seconds * 1e6:.1f} us",
            "date": r.date,
        }
        for r in records
    ]

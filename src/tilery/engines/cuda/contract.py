"""The launch contract: what a launcher must know about a compiled kernel, as plain data.

A compiler returns a binary and a `LaunchContract`. The launcher fills the parameters of the kernel in the order of
`arguments`, allocates what they refer to, and starts `threads` threads per tile block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

PARAMETER, DESCRIPTOR, GLOBAL, CONSTANT, FRAME, WORD, GRID, SCRATCH, PRINTS, NULL = (
    "parameter", "descriptor", "global", "constant", "frame", "word", "grid", "scratch", "prints", "null",
)  # fmt: skip
"""The kinds of arguments:

    parameter    the entry's parameter `index`: a pointer or a number of `size` bytes
    descriptor   128 bytes, aligned to 64: the tensor map that `descriptors[index]` describes
    global       the address of the module's global `name`
    constant     the address of `constants[index]` in device memory
    frame        the address of `frame_bytes` for each tile block, zero at the start of each launch (`alloca`)
    word         the address of eight bytes that are never read
    grid         the extent of the grid along dimension `index`, four bytes; only in a folded kernel
    scratch      the address of `scratch_bytes` for each tile block, aligned to `scratch_alignment`
    prints       the address of a buffer for printed values, see `printing`; its first eight bytes are zero at first
    null         eight zero bytes
"""


@dataclass(frozen=True, slots=True)
class Passed:
    """A parameter of the compiled kernel."""

    kind: str
    index: int = 0
    size: int = 8
    name: str = ""


@dataclass(frozen=True, slots=True)
class Extent:
    """A size or stride of a tensor: a constant, or the entry's parameter with that index, read as unsigned."""

    value: int = 0
    parameter: int | None = None


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A tensor map to encode on the host. Sizes and strides are in elements, outermost first; the last stride is 1."""

    base: int
    """The entry's parameter that holds the address."""
    element: str
    """The element type, as Tile IR names it."""
    shape: tuple[Extent, ...]
    strides: tuple[Extent, ...]
    box: tuple[int, ...]
    """The box of one copy, which may be smaller than the tile."""
    swizzle: int = 0
    """The driver's CUtensorMapSwizzle."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """A matrix that another kernel copies, transposed, before each launch.

    The address of the copy is a further parameter of the entry. The kernel takes the addresses of matrix and copy, the
    numbers of rows and columns, and the stride of the rows.
    """

    source: int
    """The entry's parameter that holds the address of the matrix."""
    rows: Extent
    columns: Extent
    stride: Extent
    item: int
    """Bytes of an element."""
    side: int
    """Rows and columns that a tile block of the kernel copies."""
    image: bytes
    contract: LaunchContract


@dataclass(frozen=True, slots=True)
class LaunchContract:
    """The facts about a compiled kernel that a launcher needs."""

    name: str
    """The symbol in the binary."""
    arguments: tuple[Passed, ...]
    threads: int
    """Threads per tile block."""
    shared_bytes: int = 0
    """Dynamic shared memory per tile block."""
    cluster: tuple[int, int, int] = (1, 1, 1)
    descriptors: tuple[Descriptor, ...] = ()
    constants: tuple[bytes, ...] = ()
    frame_bytes: int = 0
    frame_alignment: int = 256
    scratch_bytes: int = 0
    scratch_alignment: int = 1
    folded: bool = False
    """Whether the kernel runs on a grid of one dimension with x * y * z tile blocks."""
    programs: int = 0
    """The most programs that a folded kernel starts, which then share its tile blocks; 0 if each has its own."""
    ahead: tuple[Ahead, ...] = ()
    spread: int = 1
    """The number of tile blocks along x that share the work of one tile block of the launch."""

    def as_dict(self) -> dict[str, Any]:
        """Return the contract as JSON can hold it."""
        plain = asdict(self)
        plain["constants"] = [data.hex() for data in self.constants]
        for each, ahead in zip(plain["ahead"], self.ahead):
            each.update(image=ahead.image.hex(), contract=ahead.contract.as_dict())
        return plain

    @staticmethod
    def from_dict(plain: Mapping[str, Any]) -> LaunchContract:
        """Return the contract that `as_dict` wrote.

        >>> contract = LaunchContract("k", (Passed(PARAMETER), Passed(NULL)), 128, constants=(bytes(2),))
        >>> LaunchContract.from_dict(contract.as_dict()) == contract
        True
        """
        fields = dict(plain)
        fields["arguments"] = tuple(Passed(**a) for a in fields["arguments"])
        fields["cluster"] = tuple(fields["cluster"])
        fields["constants"] = tuple(bytes.fromhex(data) for data in fields["constants"])
        fields["descriptors"] = tuple(_descriptor(d) for d in fields["descriptors"])
        fields["ahead"] = tuple(_ahead(each) for each in fields["ahead"])
        return LaunchContract(**fields)


def _ahead(plain: Mapping[str, Any]) -> Ahead:
    fields = dict(plain)
    for name in ("rows", "columns", "stride"):
        fields[name] = Extent(**fields[name])
    fields["image"] = bytes.fromhex(fields["image"])
    fields["contract"] = LaunchContract.from_dict(fields["contract"])
    return Ahead(**fields)


def _descriptor(plain: Mapping[str, Any]) -> Descriptor:
    fields = dict(plain)
    fields["shape"] = tuple(Extent(**e) for e in fields["shape"])
    fields["strides"] = tuple(Extent(**e) for e in fields["strides"])
    fields["box"] = tuple(fields["box"])
    return Descriptor(**fields)

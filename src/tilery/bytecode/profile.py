"""NVIDIA's readers as data: the versions each one accepts, its wording, and what it does differently."""

from __future__ import annotations

from collections.abc import Mapping

from ..declare.fastclass import dataclass, field, replace
from ..diag import TileError
from ..version import LATEST, READ_ONLY, V13_1, V13_2, V13_3, Version
from .hints import FIRST_ARCHITECTURES, NAMED_ARCHITECTURES
from .wire import Section


@dataclass(frozen=True)
class Profile:
    """A reader. The defaults are those of the newest one.

    `texts` maps its messages to those of this reader, `prefixes` does so by how a message starts.
    """

    name: str
    latest: Version
    window: str
    read_only: Version | None = None
    """A newer version that is read as far as its layout is known."""
    texts: Mapping[str, str] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    element_texts: Mapping[str, str] = field(default_factory=dict)
    """The message for an element type that does not fit, by the name of the type that has it."""
    last_section: Section = Section.PRODUCER
    missing_bytes_are_zero: bool = False
    """The magic number and presence flags read as zeros past the end of the data."""
    allows_empty_symbols: bool = False
    ignores_visibility: bool = False
    """Private functions become public."""
    explains_new_opcodes: bool = True
    """Opcodes above those of the file's version have a message of their own."""
    uses_former_names: bool = False
    """Messages call a renamed operation by its former name."""
    qualifies_parameters: bool = False
    """Messages name a parameter together with its type."""
    reads_dense_strings: bool = False
    flags_are_bytes: bool = False
    """The flags of attributes take one byte; they are variable-length integers in the newest reader."""
    same_elements_is_array: bool = False
    """`same_elements` holds an array attribute, which may not hold the smallest and the largest integer."""
    refuses_extreme_tile_shapes: bool = False
    hint_architectures: tuple[str, ...] = ()
    """If there are any, optimization hints must be for these, known and in their range."""
    splats_whole_bytes: bool = False
    """One byte for more than eight values of i1 must be 0 or 255; newer readers take its lowest bit."""
    bounds_location_lists: bool = True
    """The lengths of the location lists are compared with the size of the section."""

    def say(self, message: str) -> str:
        """Return this reader's wording of a message."""
        return self.texts.get(message, message)

    def say_prefixed(self, message: str) -> str:
        """Return this reader's wording of a message that is known by how it starts."""
        return next((text for prefix, text in self.prefixes.items() if message.startswith(prefix)), message)


PACKED_BOOLEANS = {"i1 dense attribute payload size": "failed to validate buffer size and format"}
ASSUMPTIONS = {
    "failed to read divisor": "failed to read divisor for DivByAttr",
    "failed to read every_val": "failed to read value for 'every' in DivByAttr",
    "failed to read along_val": "failed to read value for 'along' in DivByAttr",
    "failed to read lb_val": "failed to read lower bound for BoundedAttr",
    "failed to read ub_val": "failed to read upper bound for BoundedAttr",
    "failed to read values data": "failed to read DenseI64ArrayAttr values.",
}
"""How readers before 13.4 say that a predicate of an assumption is cut off."""
READERS = {
    "13.4": Profile("13.4", LATEST, " - "),
    "13.3": Profile(
        "13.3",
        V13_3,
        " - ",
        texts=ASSUMPTIONS,
        prefixes=PACKED_BOOLEANS,
        flags_are_bytes=True,
        splats_whole_bytes=True,
    ),
    "13.2": Profile(
        "13.2",
        V13_2,
        " - ",
        texts=ASSUMPTIONS,
        prefixes=PACKED_BOOLEANS,
        flags_are_bytes=True,
        hint_architectures=NAMED_ARCHITECTURES,
        splats_whole_bytes=True,
        last_section=Section.GLOBAL,
        bounds_location_lists=False,
    ),
    "13.1": Profile(
        "13.1",
        V13_1,
        ", ",
        texts={
            **ASSUMPTIONS,
            "failed to get PointerType.pointeeType type": "failed to get pointer type",
            "failed to get TileType.elementType type": "failed to get element type",
            "failed to read TileType.shape": "failed to read tile shape",
            "failed to read TensorViewType.shape": "failed to read tensor_view shape",
            "failed to read TensorViewType.strides": "failed to read tensor_view strides",
            "failed to read PartitionViewType.tile_shape data": "failed to read tile partition view tile shape",
            "failed to get PartitionViewType.tensor_view type": (
                "failed to get tensor_view type for tile partition view"
            ),
            "failed to read PartitionViewType.dim_map": "failed to read tile partition view dimension map",
        },
        prefixes={
            **PACKED_BOOLEANS,
            "expected ::mlir::cuda_tile::TensorViewType": "invalid tensor_view type for tile partition view",
        },
        element_texts={
            "TileType": "tile element type must be integer, float, or valid pointer",
            "TensorViewType": "tensor_view element type must be integer or float",
        },
        last_section=Section.GLOBAL,
        missing_bytes_are_zero=True,
        allows_empty_symbols=True,
        ignores_visibility=True,
        explains_new_opcodes=False,
        uses_former_names=True,
        qualifies_parameters=True,
        reads_dense_strings=True,
        flags_are_bytes=True,
        same_elements_is_array=True,
        refuses_extreme_tile_shapes=True,
        hint_architectures=FIRST_ARCHITECTURES,
        splats_whole_bytes=True,
        bounds_location_lists=False,
    ),
}
OWN = replace(READERS["13.4"], read_only=READ_ONLY)
"""The reader of this library: NVIDIA's newest, which also reads what is known of the version after it."""


def find_profile(name: str | None) -> Profile:
    """Return the reader of that name, or our own."""
    if name is None:
        return OWN
    if name not in READERS:
        raise TileError(f"unknown reader {name!r}, expected one of {', '.join(READERS)}")
    return READERS[name]

"""Which of NVIDIA's readers to behave as: the versions it takes and the words it uses."""

from __future__ import annotations

from collections.abc import Mapping

from ..declare.fastclass import dataclass, field
from ..diag import TileError
from ..version import LATEST, V13_1, Version


@dataclass(frozen=True)
class Profile:
    """A reader. `texts` maps a message of the newest reader to what this one says."""

    name: str
    latest: Version
    window: str
    texts: Mapping[str, str] = field(default_factory=dict)

    def say(self, message: str) -> str:
        return self.texts.get(message, message)

    @property
    def first(self) -> bool:
        """The 13.1 reader, which differs in more than words."""
        return self.latest == V13_1


READERS = {
    "13.4": Profile("13.4", LATEST, " - "),
    "13.1": Profile(
        "13.1",
        V13_1,
        ", ",
        {
            "failed to read divisor": "failed to read divisor for DivByAttr",
            "failed to read every_val": "failed to read value for 'every' in DivByAttr",
            "failed to read along_val": "failed to read value for 'along' in DivByAttr",
            "failed to read lb_val": "failed to read lower bound for BoundedAttr",
            "failed to read ub_val": "failed to read upper bound for BoundedAttr",
            "failed to read values data": "failed to read DenseI64ArrayAttr values.",
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
            "ArrayAttr contains null element": "ArrayAttr contains non-TypedAttr elements or is null",
        },
    ),
}


def find_profile(name: str | None) -> Profile:
    if name is None:
        return READERS["13.4"]
    if name not in READERS:
        raise TileError(f"unknown reader {name!r}, expected one of {', '.join(READERS)}")
    return READERS[name]

"""The position of a tile block in the grid, and the size of the grid."""

from __future__ import annotations

import numpy as np

from ....ops import GetNumTileBlocks, GetTileBlockId
from ...common.tiles import Array
from ..batch import Batch
from ..registry import executes


@executes(GetTileBlockId, batch=True)
def get_tile_block_id(o: GetTileBlockId, batch: Batch) -> tuple[Array, ...]:
    return tuple(_uniform(np.ascontiguousarray(batch.blocks[:, axis])) for axis in range(3))


def _uniform(ids: Array) -> Array:
    """Return one lane if all tile blocks of the batch agree, so that dependent values are computed once."""
    return ids[:1] if (ids == ids[0]).all() else ids


@executes(GetNumTileBlocks, batch=True)
def get_num_tile_blocks(o: GetNumTileBlocks, batch: Batch) -> tuple[Array, ...]:
    return tuple(np.array([extent], np.int32) for extent in batch.grid)

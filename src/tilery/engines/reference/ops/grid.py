"""Where a tile block is in the grid."""

from __future__ import annotations

import numpy as np

from ....ops import GetNumTileBlocks, GetTileBlockId
from ..batch import Batch
from ..registry import executes
from ..tiles import Array


@executes(GetTileBlockId, batch=True)
def get_tile_block_id(o: GetTileBlockId, batch: Batch) -> tuple[Array, ...]:
    return tuple(_uniform(np.ascontiguousarray(batch.blocks[:, axis])) for axis in range(3))


def _uniform(ids: Array) -> Array:
    """One lane where all tile blocks of the batch are at the same place, so that what follows is computed once."""
    return ids[:1] if (ids == ids[0]).all() else ids


@executes(GetNumTileBlocks, batch=True)
def get_num_tile_blocks(o: GetNumTileBlocks, batch: Batch) -> tuple[Array, ...]:
    return tuple(np.array([extent], np.int32) for extent in batch.grid)

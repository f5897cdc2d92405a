"""The families of cases, by name."""

from __future__ import annotations

import random
from collections.abc import Callable

from . import chains, control, functions, late, pointers, products, special, tiles, tokens, views
from .case import Case

FAMILIES: dict[str, Callable[[random.Random], Case]] = {
    made.__name__: made
    for made in (
        products.product_layouts,
        products.product_carried,
        products.product_tiled,
        products.product_chain,
        products.product_rounding,
        views.in_place,
        views.overlapping_views,
        views.shifted_windows,
        views.aliasing_arguments,
        views.far_indices,
        views.zero_sizes,
        views.odd_tensors,
        views.large_strides,
        views.sparse_views,
        tiles.many_uses,
        tiles.scans,
        tiles.shape_chains,
        tiles.mixed_elements,
        late.late_uses,
        late.carried_pointers,
        functions.functions,
        functions.rounded,
        functions.scaled_products,
        pointers.masks,
        pointers.ragged_blocks,
        pointers.wrapping_offsets,
        pointers.allocas,
        pointers.atomics,
        pointers.faults,
        control.flows,
        control.bounds,
        control.effects,
        control.shared_operands,
        chains.chains,
        special.special_values,
        tokens.token_paths,
        tokens.written_operands,
    )
}
NAMES = list(FAMILIES)


def family_of(seed: int) -> str:
    """Return the family of a seed: they take turns."""
    return NAMES[seed % len(NAMES)]

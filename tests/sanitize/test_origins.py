"""Origins of undefined values in products: an element comes from its own row and column."""

from __future__ import annotations

import numpy as np

import tilery
from tilery.sanitize import Sanitizer

PRODUCT = """
cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %zero = constant <f32: 0.0> : tile<8x8xf32>
  %av = make_tensor_view %a, shape=[6, 8], strides=[8, 1] : tensor_view<6x8xf32, strides=[8,1]>
  %bv = make_tensor_view %b, shape=[6, 8], strides=[8, 1] : tensor_view<6x8xf32, strides=[8,1]>
  %cv = make_tensor_view %c, shape=[8, 8], strides=[8, 1] : tensor_view<8x8xf32, strides=[8,1]>
  %ap = make_partition_view %av : partition_view<tile=(8x8), tensor_view<6x8xf32, strides=[8,1]>>
  %bp = make_partition_view %bv : partition_view<tile=(8x8), tensor_view<6x8xf32, strides=[8,1]>>
  %cp = make_partition_view %cv : partition_view<tile=(8x8), tensor_view<8x8xf32, strides=[8,1]>>
  %x, %t0 = load_view_tko weak %ap[%z, %z] : partition_view<tile=(8x8), tensor_view<6x8xf32, strides=[8,1]>>, tile<i32> -> tile<8x8xf32>, token
  %y, %t1 = load_view_tko weak %bp[%z, %z] : partition_view<tile=(8x8), tensor_view<6x8xf32, strides=[8,1]>>, tile<i32> -> tile<8x8xf32>, token
  %r = mmaf %x, %y, %zero : tile<8x8xf32>, tile<8x8xf32>, tile<8x8xf32>
  %t2 = store_view_tko weak %r, %cp[%z, %z] : tile<8x8xf32>, partition_view<tile=(8x8), tensor_view<8x8xf32, strides=[8,1]>>, tile<i32> -> token
} }
"""  # noqa: E501  # one operation


def test_an_element_of_a_product_comes_from_its_row_and_column() -> None:
    """The last rows of the left side are undefined, but the first element of the product does not depend on them."""
    module = tilery.parse(PRODUCT)
    loads = [o for o in module.entries[0].body.ops if o.name == "load_view_tko"]
    arrays = [np.ones((6, 8), np.float32), np.ones((6, 8), np.float32), np.zeros((8, 8), np.float32)]
    found = Sanitizer("uninit")
    tilery.compile(module).launch(1, arrays, sanitize=found)
    (report,) = found.reports
    assert report.places[0].element == (0, 0)
    assert report.places[1].op is loads[1]

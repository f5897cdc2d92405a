// Kernels about views: partitions with a ragged end, transposition, overlapping windows, rows by index.
#include "common.h"

__tile_global__ void add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ sum, size_t n) {
  auto block = ct::bid().x;
  auto left = tiles_of<128>(a, n).load_masked(block);
  auto right = tiles_of<128>(b, n).load_masked(block);
  tiles_of<128>(sum, n).store_masked(left + right, block);
}

template <typename T, int N>
__tile_global__ void scale(T* x, T by) {
  ct::partition_view tiles{ct::tensor_span{x, ct::extents{1024_ic}}, ct::shape<N>{}};
  tiles.store(tiles.load(ct::bid().x) * by, ct::bid().x);
}

namespace shapes {
__tile_global__ void transpose(const int* in, int* out, size_t rows, size_t columns) {
  auto block = ct::bid();
  auto tile = tiles_of<16, 32>(in, rows, columns).load(block.x, block.y);
  tiles_of<32, 16>(out, columns, rows).store(ct::transpose(tile), block.y, block.x);
}
}  // namespace shapes

// Each tile block sums a window of 8 that starts at each fourth element.
__tile_global__ void windows(const float* in, float* out) {
  ct::tensor_span span{in, ct::extents{64_ic}};
  ct::strided_view view{span, ct::shape<8>{}, ct::strides{4_ic}};
  ct::store(out + ct::bid().x, ct::reshape(ct::sum(view.load_masked(ct::bid().x), 0_ic), ct::shape<>{}));
}

// Copy the rows that `which` lists.
__tile_global__ void rows(const float* in, const int* which, float* out) {
  ct::tensor_span span{in, ct::extents{32_ic, 16_ic}};
  ct::gather_scatter_view view{span, ct::shape<4, 16>{}, 0_ic};
  auto list = ct::load(which + int(ct::bid().x) * 4 + ct::iota<row<int, 4>>());
  tiles_of<4, 16>(out, 8, 16).store(view.load(list, 0), ct::bid().x, 0);
}

// Reductions and scans.
#include "common.h"

// Softmax of each row of a matrix with 64 columns, 4 rows to a tile block.
__tile_global__ void softmax(const float* in, float* out, size_t rows) {
  auto block = ct::bid().x;
  auto x = tiles_of<4, 64>(in, rows, 64).load(block, 0);
  auto e = ct::exp(x - ct::reduce_max(x, 1_ic));
  tiles_of<4, 64>(out, rows, 64).store(e / ct::sum(e, 1_ic), block, 0);
}

__tile_global__ void position_of_max(const float* in, unsigned* where) {
  auto x = tiles_of<8, 32>(in, 8, 32).load(0, 0);
  tiles_of<8, 1>(where, 8, 1).store(ct::max_element(x, 1_ic), 0, 0);
}

template <typename T>
__tile_global__ void running(const T* in, T* sums, T* rest) {
  auto x = tiles_of<64>(in, 64).load(0);
  tiles_of<64>(sums, 64).store(ct::partial_sum(x, 0_ic), 0);
  tiles_of<64>(rest, 64).store(ct::partial_sum(x, 0_ic, ct::scan_backward_t{}), 0);
}

__tile_global__ void bits(const unsigned* in, unsigned* out) {
  auto x = tiles_of<32>(in, 32).load(0);
  ct::store(out, ct::reshape(ct::reduce_bitand(x, 0_ic), ct::shape<>{}));
  ct::store(out + 1, ct::reshape(ct::reduce_bitor(x, 0_ic), ct::shape<>{}));
  ct::store(out + 2, ct::reshape(ct::reduce_bitxor(x, 0_ic), ct::shape<>{}));
}

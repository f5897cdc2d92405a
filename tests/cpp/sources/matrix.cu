// Matrix products: of half precision in a loop, and of bytes.
#include "common.h"
#include <cuda_fp16.h>

#ifndef TILE
#define TILE 32
#endif

__tile_global__ void gemm(const __half* a, const __half* b, float* c, size_t m, size_t n, size_t k) {
  auto block = ct::bid();
  auto left = tiles_of<TILE, TILE>(a, m, k);
  auto right = tiles_of<TILE, TILE>(b, k, n);
  auto sum = ct::zeros<ct::tile<float, ct::shape<TILE, TILE>>>();
  for (auto i : ct::irange(0, int((k + TILE - 1) / TILE))) {
    sum = ct::mma(left.load_masked(block.x, i), right.load_masked(i, block.y), sum);
  }
  tiles_of<TILE, TILE>(c, m, n).store_masked(sum, block.x, block.y);
}

__tile_global__ void bytes(const signed char* a, const signed char* b, int* c) {
  auto left = tiles_of<16, 32>(a, 16, 32).load(0, 0);
  auto right = tiles_of<32, 16>(b, 32, 16).load(0, 0);
  tiles_of<16, 16>(c, 16, 16).store(ct::matmul(left, right), 0, 0);
}

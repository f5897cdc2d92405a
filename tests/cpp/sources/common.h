// What the kernels share: names, and views of rows and matrices.
#pragma once
#include <cuda_tile.h>

namespace ct = ::cuda::tiles;
using namespace ct::literals;

template <typename T, int N>
using row = ct::tile<T, ct::shape<N>>;

template <int N, typename T>
__tile__ auto tiles_of(T* data, size_t length) {
  return ct::partition_view{ct::tensor_span{data, ct::extents{length}}, ct::shape<N>{}};
}

template <int M, int N, typename T>
__tile__ auto tiles_of(T* data, size_t rows, size_t columns) {
  return ct::partition_view{ct::tensor_span{data, ct::extents{rows, columns}}, ct::shape<M, N>{}};
}

// A launch that reads after the end of its memory, and a program that asks for the error.
#include <cassert>
#include <cstdio>
#include <cuda_runtime.h>
#include <cuda_tile.h>
namespace ct = cuda::tiles;

__tile_global__ void copy(const int* from, int* to) {
  auto i = ct::iota<ct::tile<int, ct::shape<64>>>();
  ct::store(to + i, ct::load(from + i));
}

int main(int argc, char**) {
  int *from, *to;
  cudaMalloc(&from, 60 * sizeof(int));
  cudaMalloc(&to, 64 * sizeof(int));
  copy<<<1, 1>>>(from, to);
  std::printf("%d %s\n", argc, cudaGetErrorName(cudaDeviceSynchronize()));
  std::printf("%s\n", cudaGetErrorName(cudaMemcpy(to, from, 61 * sizeof(int), cudaMemcpyDeviceToDevice)));
  return 0;
}

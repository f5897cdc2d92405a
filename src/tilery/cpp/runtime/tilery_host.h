// Included first in the host code of every program: launches, and what SIMT kernels find in CUDA's own headers.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <typeinfo>
#include <cuda_runtime.h>

// Indices of a SIMT kernel. Threads run one after another, so one set is enough.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace tilery {
void launch_tile(const char* type, void** slots);

struct Grid {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  Grid(dim3 grid = 1, dim3 block = 1, size_t shared = 0, cudaStream_t stream = nullptr)
      : grid(grid), block(block), shared(shared), stream(stream) {}
  template <class Call>
  void run(Call call) const {
    if (begin(*this)) {
      call();
      end();
    }
  }
  static bool begin(const Grid& grid);
  static void end();
};

const Grid& current();

template <class Body>
void each_thread(const Body& body) {
  const Grid& launch = current();
  gridDim = launch.grid;
  blockDim = launch.block;
  for (unsigned z = 0; z < launch.grid.z; z++)
    for (unsigned y = 0; y < launch.grid.y; y++)
      for (unsigned x = 0; x < launch.grid.x; x++)
        for (unsigned k = 0; k < launch.block.z; k++)
          for (unsigned j = 0; j < launch.block.y; j++)
            for (unsigned i = 0; i < launch.block.x; i++) {
              blockIdx = {x, y, z};
              threadIdx = {i, j, k};
              Body own(body);  // a thread may change its parameters
              own();
            }
}
}  // namespace tilery

// The overloads for kernels that CUDA's header has for nvcc only.
template <class T>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* found, T* kernel) {
  return cudaFuncGetAttributes(found, (const void*)kernel);
}
template <class T>
inline cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute((const void*)kernel, attribute, value);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbol(T& symbol, const void* source, size_t count, size_t offset = 0,
                                      cudaMemcpyKind = cudaMemcpyHostToDevice) {
  std::memcpy((char*)&symbol + offset, source, count);
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t count, size_t offset = 0,
                                        cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  std::memcpy(to, (const char*)&symbol + offset, count);
  return cudaSuccess;
}

template <class T, class U>
inline T atomicAdd(T* place, U value) { T old = *place; *place = old + (T)value; return old; }
template <class T, class U>
inline T atomicSub(T* place, U value) { T old = *place; *place = old - (T)value; return old; }
template <class T, class U>
inline T atomicMax(T* place, U value) { T old = *place; if ((T)value > old) *place = (T)value; return old; }
template <class T, class U>
inline T atomicMin(T* place, U value) { T old = *place; if ((T)value < old) *place = (T)value; return old; }
template <class T, class U>
inline T atomicExch(T* place, U value) { T old = *place; *place = (T)value; return old; }
template <class T, class U, class V>
inline T atomicCAS(T* place, U expected, V value) { T old = *place; if (old == (T)expected) *place = (T)value; return old; }
template <class T>
inline T __ldg(const T* place) { return *place; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }

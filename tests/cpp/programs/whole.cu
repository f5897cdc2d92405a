// Host code, SIMT code and tile code in one file: templates, an unnamed namespace, events, a kernel by its address.
#include <cstdint>
#include <cuda_tile.h>
#include <vector>
#include "checks.h"

namespace ct = cuda::tiles;
#define TILE_FUNCTION __tile__ inline

namespace {
constexpr int kBlock = 128;
std::vector<float> history;
using Tile = ct::tile<int, ct::shape<kBlock>>;

__global__ void fill(float* x, std::int64_t n, float step) {
  std::int64_t i = blockIdx.x * (std::int64_t)blockDim.x + threadIdx.x;
  step += 0;  // a thread's own copy
  if (i >= n) return;
  x[i] = i * step;
}

TILE_FUNCTION auto twice(auto x) { return x + x; }

__tile_global__ void add(const float* x, const float* y, float* out, std::int64_t n) {
  auto i = (int)ct::bid().x * kBlock + ct::iota<Tile>();
  auto inside = i < (int)n;
  ct::store_masked(out + i, twice(ct::load_masked(x + i, inside)) + ct::load_masked(y + i, inside), inside);
}

template <typename T, int N, bool Negate>
__tile_global__ void scale(T* x, T factor, int n) {
  auto i = (int)ct::bid().x * N + ct::iota<ct::tile<int, ct::shape<N>>>();
  auto inside = i < n;
  auto scaled = ct::load_masked(x + i, inside) * factor;
  if constexpr (Negate) scaled = -scaled;
  ct::store_masked(x + i, scaled, inside);
}
}  // namespace

template <typename Kernel>
static float timed(Kernel kernel, float* x, int n) {
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start));
  kernel<<<dim3((n + 63) / 64), 1>>>(x, 3.0f, n);
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  return milliseconds;
}

int main(int argc, char** argv) {
  Options options;
  options.parse(argc, argv);
  const int n = options.count;
  float *x, *y, *out;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  CHECK(cudaMalloc((void**)&out, n * sizeof(float)));
  fill<<<(n + 255) / 256, 256>>>(x, n, 1.0f);
  fill<<<(n + 255) / 256, 256>>>(y, n, 0.5f);
  if (n > 0) add<<<(n + kBlock - 1) / kBlock, 1, argc - argc>>>(x, y, out, n);
  CHECK(cudaGetLastError());
  history.push_back(timed(scale<float, 64, false>, out, n));
  float factor = 2;
  int count = n;
  void* slots[] = {&out, &factor, &count};
  CHECK(cudaLaunchKernel((const void*)scale<float, 32, true>, dim3((n + 31) / 32), dim3(1), slots, 0, 0));
  std::vector<float> result(n);
  CHECK(cudaMemcpy(result.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += result[i] != -2 * 3 * (2.0f * i + 0.5f * i);
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  CHECK(cudaFree(out));
  std::printf("%d wrong of %d, timed %d\n", wrong, n, history.at(0) >= 0);
  return wrong != 0;
}

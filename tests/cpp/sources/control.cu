// Control flow, conversions and printing.
#include "common.h"
#include <cuda_bf16.h>

// How many steps of "halve, or triple and add one" it takes to get from the number to 1.
__tile_global__ void collatz(const int* in, int* steps) {
  int n = in[ct::bid().x], count = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++count;
  }
  steps[ct::bid().x] = count;
}

__tile_global__ void narrow(const float* in, __nv_bfloat16* out, int n) {
  auto at = int(ct::bid().x) * 32 + ct::iota<row<int, 32>>();
  auto x = ct::load_masked(in + at, at < n, 0.0f);
  auto y = ct::select(x < 0.0f, x * 0.5f, x);
  ct::store_masked(out + at, ct::element_cast<__nv_bfloat16>(y), at < n);
}

__tile_global__ void say(const int* in) {
  auto x = tiles_of<4>(in, 4).load(0);
  printf("block %d\n", int(ct::bid().x));
  printf("%i\n", x);
}

__tile_global__ void halves(const int* in, int* out) {
  auto x = tiles_of<16>(in, 16).load(0);
  auto low = ct::extract(x, ct::shape<8>{}, 0);
  auto high = ct::extract(x, ct::shape<8>{}, 1);
  tiles_of<16>(out, 16).store(ct::cat(high, low, 0_ic), 0);
}

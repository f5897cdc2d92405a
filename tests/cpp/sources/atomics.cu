// Atomics: on pointers, through a view, and compare and exchange.
#include "common.h"

__tile_global__ void histogram(const int* values, int* counts, int n) {
  auto at = int(ct::bid().x) * 64 + ct::iota<row<int, 64>>();
  auto inside = at < n;
  auto bin = ct::load_masked(values + at, inside, 0);
  ct::atomic_add_masked(counts + bin, ct::ones<row<int, 64>>(), inside, ct::memory_order_relaxed_t{});
}

__tile_global__ void total(const float* in, float* out) {
  auto x = tiles_of<64>(in, 256).load(ct::bid().x);
  tiles_of<64>(out, 64).atomic_add(x, ct::memory_order_relaxed_t{}, ct::thread_scope_device_t{}, 0);
}

// The first tile block to come takes the lock, and says which it was.
__tile_global__ void first(int* lock, int* winner) {
  int free = ct::atomic_compare_exchange(lock, 0, 1, ct::memory_order_acq_rel_t{});
  if (free == 0) {
    *winner = int(ct::bid().x);
  }
}

__tile_global__ void largest(const int* in, int* out) {
  auto x = ct::load(in + int(ct::bid().x) * 32 + ct::iota<row<int, 32>>());
  ct::atomic_max(out, ct::reshape(ct::reduce_max(x, 0_ic), ct::shape<>{}), ct::memory_order_relaxed_t{});
}

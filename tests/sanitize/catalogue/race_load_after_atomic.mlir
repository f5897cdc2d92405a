// A weak load does not wait for the atomic operation before it.
// run: --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %old, %t1 = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token  // other: race
  %new, %t2 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token  // fault: race: no token orders // cause: no token leads from atomic_rmw_tko to load_ptr_tko: pass the token of the first to the second
  // fixed: %new, %t2 = load_ptr_tko relaxed device %p : tile<ptr<i32>> -> tile<i32>, token
  %t3 = store_ptr_tko weak %q, %new : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// Relaxed atomic operations of one tile block wait for each other, though they may happen at the same time.
// run: --grid 2 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %a, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %b, %t1 = atomic_rmw_tko relaxed device %p, add, %one token=%t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token  // fault: order: no conflicting accesses
  // fixed: %b, %t1 = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
} }

// Atomic operations of one block wait for each other: two whose results are stored must, two without results need not.
// run: --grid 3 --arg zeros:i32:1 --arg zeros:i32:1 --arg zeros:i32:6
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %c: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %b, %by, %bz = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %x, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %y, %t1 = atomic_rmw_tko relaxed device %p, add, %one token=%t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %q0 = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %q1 = offset %q0, %three : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t2 = store_ptr_tko weak %q0, %x : tile<ptr<i32>>, tile<i32> -> token
  %t3 = store_ptr_tko weak %q1, %y : tile<ptr<i32>>, tile<i32> -> token
  %u, %t4 = atomic_rmw_tko relaxed sys %c, max, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %v, %t5 = atomic_rmw_tko relaxed sys %c, max, %one token=%t4 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token  // fault: order: no conflicting accesses
  // fixed: %v, %t5 = atomic_rmw_tko relaxed sys %c, max, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
} }

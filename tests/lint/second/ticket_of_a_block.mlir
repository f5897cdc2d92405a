// Tile blocks draw tickets from one counter by an atomic of their own block's scope.
cuda_tile.module @m { entry @k(%counter: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %ticket, %t = atomic_rmw_tko relaxed tl_blk %counter, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token  // fault: lint
  // fixed: %ticket, %t = atomic_rmw_tko relaxed device %counter, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %a = offset %q, %ticket : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %a, %one : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// An atomic operation is one element past the end.
// run: --grid 5 --arg zeros:i32:4
// fixed-run: --grid 4 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %a = offset %p, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = atomic_rmw_tko relaxed device %a, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token  // fault: bounds: is outside of it
  return
} }

// An index is promised to be below 4, but the grid has more tile blocks.
// run: --grid 6 --arg zeros:i32:8
// fixed-run: --grid 4 --arg zeros:i32:8
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %i = assume bounded<0, 3>, %b : tile<i32>  // fault: promise: a value is not within [0, 3]
  %at = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %at, %i : tile<ptr<i32>>, tile<i32> -> token
  return
} }

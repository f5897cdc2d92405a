// The number of a tile is divided by a constant that is zero.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %groups = constant <i32: 0> : tile<i32>
  // fixed: %groups = constant <i32: 4> : tile<i32>
  %r = remi %bx, %groups signed : tile<i32>  // fault: lint
  %a = offset %q, %bx : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %a, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// All tile blocks store their own number to the same element.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %u = store_ptr_tko weak %q, %bx : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  // fixed: %a = offset %q, %bx : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %one = constant <i32: 1> : tile<i32>
  // fixed: %u = store_ptr_tko weak %a, %bx : tile<ptr<i32>>, tile<i32> -> token
  return
} }

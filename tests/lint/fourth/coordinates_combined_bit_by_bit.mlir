// The exclusive or of equal coordinates is always zero.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %wide = constant <i32: 64> : tile<i32>
  %w = muli %b, %wide : tile<i32>
  %i = xori %b, %y : tile<i32>
  // fixed: %i = addi %w, %y : tile<i32>
  %a = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %a, %b : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  return
} }

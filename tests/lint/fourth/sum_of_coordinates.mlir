// Blocks (0, 1) and (1, 0) have the same sum.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %big = constant <i32: 16> : tile<i32>
  %wide = constant <i32: 64> : tile<i32>
  %w0 = muli %b, %wide : tile<i32>
  %w = addi %w0, %zero : tile<i32>
  %i = addi %b, %y : tile<i32>
  // fixed: %i = addi %w, %y : tile<i32>
  %a = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %a, %b : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  return
} }

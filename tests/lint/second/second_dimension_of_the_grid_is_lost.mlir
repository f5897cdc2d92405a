// A grid of two dimensions, of which the address uses one.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %w = constant <i32: 1000> : tile<i32>
  %o = muli %bx, %w : tile<i32>
  %k = addi %o, %bx : tile<i32>
  // fixed: %k = addi %o, %by : tile<i32>
  %a = offset %q, %k : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %s = addi %bx, %by : tile<i32>
  %u = store_ptr_tko weak %a, %s : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  return
} }

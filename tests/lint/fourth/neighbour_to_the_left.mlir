// Each block stores to its own element after it has read the one to its left.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %l = subi %b, %c1 : tile<i32>
  %l0 = maxi %l, %c0 signed : tile<i32>
  %a = offset %q, %l0 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  // fixed: %a = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %d = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
  %u = store_ptr_tko weak %d, %v token = %t : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  return
} }

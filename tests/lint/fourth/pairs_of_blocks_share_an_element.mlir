// Blocks 0 and 1 get the same element, since half of their numbers is the same.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %big = constant <i32: 16> : tile<i32>
  %i = divi %b, %two signed : tile<i32>
  // fixed: %i = muli %b, %two : tile<i32>
  %a = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %a, %b : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  return
} }

// Block 0 divides by its own number.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %h = constant <i32: 100> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %d = addi %b, %c1 : tile<i32>
  %v = remi %h, %b signed : tile<i32>  // fault: lint
  // fixed: %v = remi %h, %d signed : tile<i32>
  %a = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %a, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// An integer is below its promised bound, in one tile block of four.
// run: --grid 4 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %c = subi %b, %one : tile<i32>
  // fixed: %c = muli %b, %one : tile<i32>
  %m = assume bounded<0, ?>, %c : tile<i32>  // fault: promise: not within [0, inf]
  %a = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t1 = store_ptr_tko weak %a, %m : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// Rows of 2^30 numbers begin at a product in 32 bits; from the third row on it is negative.
// run: --grid 2 --arg zeros:i8:16
cuda_tile.module @m { entry @k(%out: tile<ptr<i8>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %long = constant <i32: 1073741824> : tile<i32>
  // fixed: %long = constant <i32: 2> : tile<i32>
  %zero = constant <i8: 0> : tile<i8>
  %row = addi %b, %c1 : tile<i32>
  %first = muli %row, %long : tile<i32>
  %end = addi %first, %first : tile<i32>
  %to = offset %out, %end : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
  %t = store_ptr_tko weak %to, %zero : tile<ptr<i8>>, tile<i8> -> token  // fault: bounds
  return
} }

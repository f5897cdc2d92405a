// Elements of a group do not follow one another.
// run: --arg zeros:i32:16
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<16xi32>
  %four = constant <i32: 4> : tile<16xi32>
  // fixed: %four = constant <i32: 1> : tile<16xi32>
  %j = muli %i, %four : tile<16xi32>
  %k = assume div_by<4, every 4 along 0>, %j : tile<16xi32>  // fault: promise: do not increase by 1
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %a_n, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %t1 = store_ptr_tko weak %a, %k : tile<16xptr<i32>>, tile<16xi32> -> token
  return
} }

// Elements that are said to be equal in pairs are not.
// run: --arg zeros:i32:8
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %one = constant <i32: 0> : tile<8xi32>
  // fixed: %one = constant <i32: 1> : tile<8xi32>
  %j = shri %i, %one unsigned : tile<8xi32>
  %k = assume same_elements<[2]>, %j : tile<8xi32>  // fault: promise: differ
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %a_n, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t1 = store_ptr_tko weak %a, %k : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

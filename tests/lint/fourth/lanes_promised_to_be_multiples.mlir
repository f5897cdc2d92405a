// The lanes 0 to 7 are promised to be multiples of 4.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %four = constant <i32: 4> : tile<8xi32>
  %j = muli %i, %four : tile<8xi32>
  %v = assume div_by<4>, %i : tile<8xi32>  // fault: lint
  // fixed: %v = assume div_by<4>, %j : tile<8xi32>
  %a1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %an, %v : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

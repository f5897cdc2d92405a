// Multiples of eight are promised to be multiples of sixteen.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %e = constant <i32: 8> : tile<8xi32>
  %m = muli %i, %e : tile<8xi32>
  %k = assume div_by<16>, %m : tile<8xi32>  // fault: lint
  // fixed: %k = assume div_by<8>, %m : tile<8xi32>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %b = offset %qn, %k : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %u = store_ptr_tko weak %b, %i : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

// Indices up to 31 are promised to be less than 16.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<32xi32>
  %k = assume bounded<0, 15>, %i : tile<32xi32>  // fault: lint
  // fixed: %k = assume bounded<0, 31>, %i : tile<32xi32>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<32xptr<i32>>
  %b = offset %qn, %k : tile<32xptr<i32>>, tile<32xi32> -> tile<32xptr<i32>>
  %u = store_ptr_tko weak %b, %i : tile<32xptr<i32>>, tile<32xi32> -> token
  return
} }

// A mask asks whether an unsigned number is less than zero.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<16xi32>
  %z = constant <i32: 0> : tile<16xi32>
  %m = cmpi less_than %i, %z, unsigned : tile<16xi32> -> tile<16xi1>  // fault: lint
  // fixed: %m = cmpi greater_than %i, %z, unsigned : tile<16xi32> -> tile<16xi1>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %b = offset %qn, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %u = store_ptr_tko weak %b, %i, %m : tile<16xptr<i32>>, tile<16xi32>, tile<16xi1> -> token
  return
} }

// Two elements of a store are the same, because the index is taken modulo eight.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<16xi32>
  %eight = constant <i32: 8> : tile<16xi32>
  // fixed: %eight = constant <i32: 16> : tile<16xi32>
  %k = remi %i, %eight unsigned : tile<16xi32>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %qn, %k : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %u = store_ptr_tko weak %a, %i : tile<16xptr<i32>>, tile<16xi32> -> token  // fault: lint
  return
} }

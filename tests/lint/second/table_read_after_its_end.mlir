// Sixteen elements are read of a table that has eight.
cuda_tile.module @m { global @table <i32: [1, 2, 3, 4, 5, 6, 7, 8]> : tile<8xi32>
  entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<16xi32>
  %g = get_global @table : tile<ptr<i32>>
  %g1 = reshape %g : tile<ptr<i32>> -> tile<1xptr<i32>>
  %gn = broadcast %g1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %a = offset %gn, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %n = constant <i32: 8> : tile<16xi32>
  %m = cmpi less_than_or_equal %i, %n, signed : tile<16xi32> -> tile<16xi1>
  // fixed: %m = cmpi less_than %i, %n, signed : tile<16xi32> -> tile<16xi1>
  %pad = constant <i32: 0> : tile<16xi32>
  %v, %t = load_ptr_tko weak %a, %m, %pad : tile<16xptr<i32>>, tile<16xi1>, tile<16xi32> -> tile<16xi32>, token  // fault: lint
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %b = offset %qn, %i : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %u = store_ptr_tko weak %b, %v : tile<16xptr<i32>>, tile<16xi32> -> token
  return
} }

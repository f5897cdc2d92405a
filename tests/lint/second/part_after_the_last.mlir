// The fourth part of a tile that has four is the one with index three, not four.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<32xi32>
  %four = constant <i32: 4> : tile<i32>
  // fixed: %four = constant <i32: 3> : tile<i32>
  %r = extract %i[%four] : tile<32xi32> -> tile<8xi32>  // fault: lint
  %j = iota : tile<8xi32>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %b = offset %qn, %j : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %u = store_ptr_tko weak %b, %r : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

// The index of a part is too large.
// run: --arg i32:4 --arg zeros:i32:8
// fixed-run: --arg i32:3 --arg zeros:i32:8
cuda_tile.module @m { entry @k(%n: tile<i32>, %q: tile<ptr<i32>>) {
  %i = iota : tile<32xi32>
  %r = extract %i[%n] : tile<32xi32> -> tile<8xi32>  // fault: undefined: index 0 is not less than 4
  %j = iota : tile<8xi32>
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %a_n, %j : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t1 = store_ptr_tko weak %a, %r : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

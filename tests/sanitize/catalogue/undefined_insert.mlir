// A part is inserted past the end.
// run: --arg i32:-1 --arg zeros:i32:8
// fixed-run: --arg i32:1 --arg zeros:i32:8
cuda_tile.module @m { entry @k(%n: tile<i32>, %q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %j = iota : tile<2xi32>
  %r = insert %j, %i[%n] : tile<2xi32>, tile<8xi32>  // fault: undefined: index 0 is not less than 4
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %a_n, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t1 = store_ptr_tko weak %a, %r : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

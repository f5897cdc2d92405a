// Lanes shift by their distance to the fourth one, which is negative for the first ones.
// run: --arg zeros:i32:8
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %four = constant <i32: 4> : tile<8xi32>
  %one = constant <i32: 1> : tile<8xi32>
  %by = subi %i, %four : tile<8xi32>
  // fixed: %by = addi %i, %four : tile<8xi32>
  %r = shli %one, %by : tile<8xi32>  // fault: undefined
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %a_n, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %r : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

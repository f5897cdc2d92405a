// A constant that is the smallest integer is divided by each lane, and one lane is -1.
// run: --arg zeros:i32:4
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<4xi32>
  %low = constant <i32: -2147483648> : tile<4xi32>
  %four = constant <i32: 4> : tile<4xi32>
  %by = subi %i, %four : tile<4xi32>
  %by2 = subi %by, %four : tile<4xi32>
  %r = divi %low, %by signed : tile<4xi32>  // fault: undefined: too large
  // fixed: %r = divi %low, %by2 signed : tile<4xi32>
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %a = offset %a_n, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %t = store_ptr_tko weak %a, %r : tile<4xptr<i32>>, tile<4xi32> -> token
  return
} }

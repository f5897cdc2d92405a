// The logarithm of lane 0 is minus infinity, and becomes an integer.
// run: --arg zeros:i32:8
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %one = constant <i32: 1> : tile<8xi32>
  %j = addi %i, %one : tile<8xi32>
  %x = itof %i signed : tile<8xi32> -> tile<8xf32>
  // fixed: %x = itof %j signed : tile<8xi32> -> tile<8xf32>
  %l = log2 %x : tile<8xf32>
  %r = ftoi %l signed : tile<8xf32> -> tile<8xi32>  // fault: undefined: does not fit a signed i32
  %a_1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %a_n, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %r : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

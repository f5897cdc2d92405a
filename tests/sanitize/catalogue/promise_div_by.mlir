// An integer is not the multiple that it is said to be.
// run: --arg i32:12 --arg zeros:i32:1
// fixed-run: --arg i32:16 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%n: tile<i32>, %q: tile<ptr<i32>>) {
  %m = assume div_by<8>, %n : tile<i32>  // fault: promise: a value is not divisible by 8
  %t1 = store_ptr_tko weak %q, %m : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A division by zero.
// run: --arg i32:7 --arg i32:0 --arg zeros:i32:1
// fixed-run: --arg i32:7 --arg i32:2 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%x: tile<i32>, %y: tile<i32>, %q: tile<ptr<i32>>) {
  %r = divi %x, %y signed : tile<i32>  // fault: undefined: division by zero
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

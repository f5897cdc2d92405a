// The remainder of the smallest integer and -1.
// run: --arg i32:-2147483648 --arg i32:-1 --arg zeros:i32:1
// fixed-run: --arg i32:-2147483648 --arg i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%x: tile<i32>, %y: tile<i32>, %q: tile<ptr<i32>>) {
  %r = remi %x, %y signed : tile<i32>  // fault: undefined: too large
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// The smallest integer has no negative.
// run: --arg i32:-2147483648 --arg zeros:i32:1
// fixed-run: --arg i32:-2147483647 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%x: tile<i32>, %q: tile<ptr<i32>>) {
  %r = negi %x overflow<no_signed_wrap> : tile<i32>  // fault: promise: the result wraps
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// An integer does not fit the narrower type.
// run: --arg i32:200 --arg zeros:i8:1
// fixed-run: --arg i32:100 --arg zeros:i8:1
cuda_tile.module @m { entry @k(%x: tile<i32>, %q: tile<ptr<i8>>) {
  %r = trunci %x overflow<no_signed_wrap> : tile<i32> -> tile<i8>  // fault: promise: the result wraps
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i8>>, tile<i8> -> token
  return
} }

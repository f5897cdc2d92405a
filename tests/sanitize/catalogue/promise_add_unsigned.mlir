// An unsigned sum overflows.
// run: --arg i8:-1 --arg i8:1 --arg zeros:i8:1
// fixed-run: --arg i8:-2 --arg i8:1 --arg zeros:i8:1
cuda_tile.module @m { entry @k(%x: tile<i8>, %y: tile<i8>, %q: tile<ptr<i8>>) {
  %r = addi %x, %y overflow<no_unsigned_wrap> : tile<i8>  // fault: promise: the result wraps
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i8>>, tile<i8> -> token
  return
} }

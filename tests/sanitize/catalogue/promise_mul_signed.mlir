// A product of 64-bit integers overflows.
// run: --arg i64:4294967296 --arg i64:2147483648 --arg zeros:i64:1
// fixed-run: --arg i64:4294967296 --arg i64:-2147483648 --arg zeros:i64:1
cuda_tile.module @m { entry @k(%x: tile<i64>, %y: tile<i64>, %q: tile<ptr<i64>>) {
  %r = muli %x, %y overflow<no_signed_wrap> : tile<i64>  // fault: promise: the result wraps
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i64>>, tile<i64> -> token
  return
} }

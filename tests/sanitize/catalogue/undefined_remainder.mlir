// The remainder of a division by zero.
// run: --arg i64:7 --arg i64:0 --arg zeros:i64:1
// fixed-run: --arg i64:7 --arg i64:3 --arg zeros:i64:1
cuda_tile.module @m { entry @k(%x: tile<i64>, %y: tile<i64>, %q: tile<ptr<i64>>) {
  %r = remi %x, %y unsigned : tile<i64>  // fault: undefined: division by zero
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i64>>, tile<i64> -> token
  return
} }

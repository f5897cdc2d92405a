// A shift by a negative amount is one by a large amount.
// run: --arg i64:1 --arg i64:-1 --arg zeros:i64:1
// fixed-run: --arg i64:1 --arg i64:1 --arg zeros:i64:1
cuda_tile.module @m { entry @k(%x: tile<i64>, %y: tile<i64>, %q: tile<ptr<i64>>) {
  %r = shri %x, %y signed : tile<i64>  // fault: undefined: the shift amount
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i64>>, tile<i64> -> token
  return
} }

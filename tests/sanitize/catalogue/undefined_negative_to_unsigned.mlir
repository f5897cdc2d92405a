// A negative float is converted to an unsigned integer.
// run: --arg f64:-1.0 --arg zeros:i8:1
// fixed-run: --arg f64:-0.5 --arg zeros:i8:1
cuda_tile.module @m { entry @k(%x: tile<f64>, %q: tile<ptr<i8>>) {
  %r = ftoi %x unsigned : tile<f64> -> tile<i8>  // fault: undefined: does not fit an unsigned i8
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i8>>, tile<i8> -> token
  return
} }

// An exponential function overflows in f16.
// run: --arg f16:12 --arg zeros:f16:1
// fixed-run: --arg f16:11 --arg zeros:f16:1
cuda_tile.module @m { entry @k(%x: tile<f16>, %q: tile<ptr<f16>>) {
  %r = exp %x : tile<f16>  // fault: nan: finite numbers make an infinity
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<f16>>, tile<f16> -> token
  return
} }

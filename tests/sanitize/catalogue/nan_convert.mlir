// A conversion to f16 overflows.
// run: --arg f32:1e6 --arg zeros:f16:1
// fixed-run: --arg f32:1e3 --arg zeros:f16:1
cuda_tile.module @m { entry @k(%x: tile<f32>, %q: tile<ptr<f16>>) {
  %r = ftof %x : tile<f32> -> tile<f16>  // fault: nan: finite numbers make an infinity
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<f16>>, tile<f16> -> token
  return
} }

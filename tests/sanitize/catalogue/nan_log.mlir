// The logarithm of zero.
// run: --arg f32:0 --arg zeros:f32:1
// fixed-run: --arg f32:1 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%x: tile<f32>, %q: tile<ptr<f32>>) {
  %r = log %x : tile<f32>  // fault: nan: finite numbers make an infinity
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<f32>>, tile<f32> -> token
  return
} }

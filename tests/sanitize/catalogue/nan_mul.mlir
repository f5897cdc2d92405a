// A product of large numbers overflows.
// run: --arg f32:1e30 --arg f32:1e30 --arg zeros:f32:1
// fixed-run: --arg f32:1e10 --arg f32:1e10 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%x: tile<f32>, %y: tile<f32>, %q: tile<ptr<f32>>) {
  %r = mulf %x, %y : tile<f32>  // fault: nan: finite numbers make an infinity
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<f32>>, tile<f32> -> token
  return
} }

// A dependent kernel waits for the one before it, but no token leads from the wait to its load.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %w = gdc_wait_tko -> token
  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token  // fault: lint
  // fixed: %x, %t = load_ptr_tko weak %p token = %w : tile<ptr<f32>> -> tile<f32>, token
  %u = store_ptr_tko weak %q, %x token = %t : tile<ptr<f32>>, tile<f32> -> token
  return
} }

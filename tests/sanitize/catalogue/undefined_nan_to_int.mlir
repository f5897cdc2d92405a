// NaN is converted to an integer.
// run: --arg f32:nan --arg zeros:i32:1
cuda_tile.module @m { entry @k(%x: tile<f32>, %q: tile<ptr<i32>>) {
  %r = ftoi %x signed : tile<f32> -> tile<i32>  // fault: undefined: does not fit a signed i32
  // fixed: %r = ftoi %x signed saturating : tile<f32> -> tile<i32>
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

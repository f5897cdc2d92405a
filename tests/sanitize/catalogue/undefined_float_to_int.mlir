// A float is too large for the integer type.
// run: --arg f32:3e9 --arg zeros:i32:1
// fixed-run: --arg f32:2e9 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%x: tile<f32>, %q: tile<ptr<i32>>) {
  %r = ftoi %x signed : tile<f32> -> tile<i32>  // fault: undefined: does not fit a signed i32
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

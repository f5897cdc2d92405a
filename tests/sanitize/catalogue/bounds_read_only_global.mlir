// A store writes to a constant.
// run: --arg zeros:f32:1
cuda_tile.module @m { global constant @table <f32: [1.0, 2.0]> : tile<2xf32>
  entry @k(%q: tile<ptr<f32>>) {
  %g = get_global @table : tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %g : tile<ptr<f32>> -> tile<f32>, token
  %t1 = store_ptr_tko weak %g, %v token=%t : tile<ptr<f32>>, tile<f32> -> token  // fault: bounds: read-only
  // fixed: %t1 = store_ptr_tko weak %q, %v token=%t : tile<ptr<f32>>, tile<f32> -> token
  return
} }

// A store writes past the end because it is not masked.
// run: --arg zeros:f32:10
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %i = iota : tile<16xi32>
  %b_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b_n = broadcast %b_1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %b = offset %b_n, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %n = constant <i32: 10> : tile<16xi32>
  %m = cmpi less_than %i, %n, signed : tile<16xi32> -> tile<16xi1>
  %v = constant <f32: 1.0> : tile<16xf32>
  %t1 = store_ptr_tko weak %b, %v : tile<16xptr<f32>>, tile<16xf32> -> token  // fault: bounds: is outside of it
  // fixed: %t1 = store_ptr_tko weak %b, %v, %m : tile<16xptr<f32>>, tile<16xf32>, tile<16xi1> -> token
  return
} }

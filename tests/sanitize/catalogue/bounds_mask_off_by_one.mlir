// The mask of a load lets one element too many through.
// run: --arg arange:f32:10 --arg zeros:f32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %i = iota : tile<16xi32>
  %a_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_n = broadcast %a_1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %a = offset %a_n, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %b_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b_n = broadcast %b_1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %b = offset %b_n, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %n = constant <i32: 10> : tile<16xi32>
  %m = cmpi less_than_or_equal %i, %n, signed : tile<16xi32> -> tile<16xi1>
  // fixed: %m = cmpi less_than %i, %n, signed : tile<16xi32> -> tile<16xi1>
  %zero = constant <f32: 0.0> : tile<16xf32>
  %v, %t = load_ptr_tko weak %a, %m, %zero : tile<16xptr<f32>>, tile<16xi1>, tile<16xf32> -> tile<16xf32>, token  // fault: bounds: 0 bytes after the end of argument '0'
  %t1 = store_ptr_tko weak %b, %v : tile<16xptr<f32>>, tile<16xf32> -> token
  return
} }

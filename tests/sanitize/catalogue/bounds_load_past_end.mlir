// A load reads one element past the end of its argument.
// run: --arg arange:f32:15 --arg zeros:f32:16
// fixed-run: --arg arange:f32:16 --arg zeros:f32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %i = iota : tile<16xi32>
  %a_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_n = broadcast %a_1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %a = offset %a_n, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %b_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b_n = broadcast %b_1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %b = offset %b_n, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %v, %t = load_ptr_tko weak %a : tile<16xptr<f32>> -> tile<16xf32>, token  // fault: bounds: is outside of it
  %t1 = store_ptr_tko weak %b, %v : tile<16xptr<f32>>, tile<16xf32> -> token
  return
} }

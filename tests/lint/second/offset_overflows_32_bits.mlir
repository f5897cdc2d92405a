// Rows are so far apart that the offset of the last ones does not fit 32 bits.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %i = iota : tile<64xi32>
  %stride = constant <i32: 67108864> : tile<64xi32>
  // fixed: %stride = constant <i32: 1048576> : tile<64xi32>
  %o = muli %i, %stride : tile<64xi32>  // fault: lint
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pn = broadcast %p1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %a = offset %pn, %o : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %v, %t = load_ptr_tko weak %a : tile<64xptr<f32>> -> tile<64xf32>, token
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %qn = broadcast %q1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %b = offset %qn, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %u = store_ptr_tko weak %b, %v : tile<64xptr<f32>>, tile<64xf32> -> token
  return
} }

// Masked elements of a load without padding are stored.
// run: --arg arange:f32:8 --arg zeros:f32:8
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %i = iota : tile<8xi32>
  %a_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_n = broadcast %a_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %a = offset %a_n, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %b_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b_n = broadcast %b_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %b = offset %b_n, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %n = constant <i32: 5> : tile<8xi32>
  %m = cmpi less_than %i, %n, signed : tile<8xi32> -> tile<8xi1>
  %v, %t = load_ptr_tko weak %a, %m : tile<8xptr<f32>>, tile<8xi1> -> tile<8xf32>, token  // other: uninit
  %t1 = store_ptr_tko weak %b, %v : tile<8xptr<f32>>, tile<8xf32> -> token  // fault: uninit
  // fixed: %t1 = store_ptr_tko weak %b, %v, %m : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
  return
} }

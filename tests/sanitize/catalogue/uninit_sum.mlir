// A sum includes masked elements that have no padding.
// run: --arg arange:f32:8 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %i = iota : tile<8xi32>
  %a_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_n = broadcast %a_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %a = offset %a_n, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %n = constant <i32: 5> : tile<8xi32>
  %m = cmpi less_than %i, %n, signed : tile<8xi32> -> tile<8xi1>
  %zero = constant <f32: 0.0> : tile<8xf32>
  %w, %t = load_ptr_tko weak %a, %m : tile<8xptr<f32>>, tile<8xi1> -> tile<8xf32>, token  // other: uninit
  // fixed: %w, %t = load_ptr_tko weak %a, %m, %zero : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token
  %v = reduce %w dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
    %s = addf %x, %y : tile<f32>
    yield %s : tile<f32>
  }
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token  // fault: uninit
  return
} }

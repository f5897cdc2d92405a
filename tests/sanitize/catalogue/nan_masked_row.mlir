// The maximum of a row that is masked as a whole is subtracted from it.
// run: --arg zeros:f32:4
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %w = constant <f32: [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000]> : tile<4xf32>
  // fixed: %w = constant <f32: [1.0, 0xFF800000, 0xFF800000, 0xFF800000]> : tile<4xf32>
  %m = reduce %w dim=0 identities=[0xFF800000 : f32] : tile<4xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
    %s = maxf %x, %y : tile<f32>
    yield %s : tile<f32>
  }
  %m1 = reshape %m : tile<f32> -> tile<1xf32>
  %m4 = broadcast %m1 : tile<1xf32> -> tile<4xf32>
  %d = subf %w, %m4 : tile<4xf32>  // fault: nan: infinities make NaN
  %e = exp %d : tile<4xf32>
  %i = iota : tile<4xi32>
  %b_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b_n = broadcast %b_1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %b = offset %b_n, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %t1 = store_ptr_tko weak %b, %e : tile<4xptr<f32>>, tile<4xf32> -> token
  return
} }

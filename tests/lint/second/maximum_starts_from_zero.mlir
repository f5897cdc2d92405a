// The maximum of floats starts from zero, though all of them may be negative.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %i = iota : tile<16xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pn = broadcast %p1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %a = offset %pn, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %v, %t = load_ptr_tko weak %a : tile<16xptr<f32>> -> tile<16xf32>, token
  %r = reduce %v dim=0 identities=[0.0 : f32] : tile<16xf32> -> tile<f32>  // fault: lint
  // fixed: %r = reduce %v dim=0 identities=[0xFF800000 : f32] : tile<16xf32> -> tile<f32>
  (%x: tile<f32>, %y: tile<f32>) {
    %m = maxf %x, %y : tile<f32>
    yield %m : tile<f32>
  }
  %u = store_ptr_tko weak %q, %r : tile<ptr<f32>>, tile<f32> -> token
  return
} }

// Elements that the mask leaves out have no value, and are added.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %i = iota : tile<16xi32>
  %n = constant <i32: 10> : tile<16xi32>
  %m = cmpi less_than %i, %n, signed : tile<16xi32> -> tile<16xi1>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pn = broadcast %p1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %a = offset %pn, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %pad = constant <f32: 0.0> : tile<16xf32>
  %v, %t = load_ptr_tko weak %a, %m : tile<16xptr<f32>>, tile<16xi1> -> tile<16xf32>, token  // fault: lint
  // fixed: %v, %t = load_ptr_tko weak %a, %m, %pad : tile<16xptr<f32>>, tile<16xi1>, tile<16xf32> -> tile<16xf32>, token
  %r = reduce %v dim=0 identities=[0.0 : f32] : tile<16xf32> -> tile<f32>
  (%x: tile<f32>, %y: tile<f32>) {
    %s = addf %x, %y : tile<f32>
    yield %s : tile<f32>
  }
  %u = store_ptr_tko weak %q, %r : tile<ptr<f32>>, tile<f32> -> token
  return
} }

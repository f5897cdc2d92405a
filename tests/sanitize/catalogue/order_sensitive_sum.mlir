// A sum of floats of very different sizes depends on the order.
// run: --arg zeros:f32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %w = constant <f32: [1.0, 1.0e8, -1.0e8, 0.5]> : tile<4xf32>
  // fixed: %w = constant <f32: [1.0, 2.0, 4.0, 8.0]> : tile<4xf32>
  %v = reduce %w dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {  // fault: order-sensitive: depends on the order
  // fixed: %v = reduce %w dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
    %s = addf %x, %y : tile<f32>
    yield %s : tile<f32>
  }
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
} }

// RUN: tilery check %s
// offset keeps the shape
entry @k(%p: tile<ptr<f32>>) {
  %v = iota : tile<8xi32>
  %0 = offset %p, %v : tile<ptr<f32>>, tile<8xi32> -> tile<ptr<f32>>
  return
}
// =>
// stderr:
// in.mlir:5:8: error: 'cuda_tile.offset' op requires the same shape for all operands and results
//       %0 = offset %p, %v : tile<ptr<f32>>, tile<8xi32> -> tile<ptr<f32>>
//            ^^^^^^
// exit 1

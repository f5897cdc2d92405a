// RUN: tilery check %s
// cat adds sizes
entry @k() {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %0 = cat %a, %a dim = 1 : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf32>
  return
}
// =>
// -----
// cat along another
entry @k() {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %0 = cat %a, %a dim = 0 : tile<2x4xf32>, tile<2x4xf32> -> tile<4x4xf32>
  return
}
// =>
// -----
// cat needs the sum
entry @k() {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %0 = cat %a, %a dim = 0 : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.cat' op invalid concat at position 0, expected: 4 but got: 2
//       %0 = cat %a, %a dim = 0 : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf32>
//            ^^^
// exit 1
// -----
// cat keeps other sizes
entry @k() {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %b = constant <f32: 0.0> : tile<4x4xf32>
  %0 = cat %a, %b dim = 1 : tile<2x4xf32>, tile<4x4xf32> -> tile<2x8xf32>
  return
}
// =>
// stderr:
// in.mlir:5:8: error: 'cuda_tile.cat' op expect lhs and rhs shapes to match at non-concat position 0, expected: 2 but got: 4
//       %0 = cat %a, %b dim = 1 : tile<2x4xf32>, tile<4x4xf32> -> tile<2x8xf32>
//            ^^^
// exit 1
// -----
// cat keeps the rank
entry @k() {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %0 = cat %a, %a dim = 1 : tile<2x4xf32>, tile<2x4xf32> -> tile<8xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.cat' op failed to verify that all of {lhs, rhs, result} have same rank
//       %0 = cat %a, %a dim = 1 : tile<2x4xf32>, tile<2x4xf32> -> tile<8xf32>
//            ^^^
// exit 1
// -----
// cat keeps the element
entry @k() {
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %0 = cat %a, %a dim = 1 : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf16>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.cat' op failed to verify that all of {lhs, rhs, result} have the same element type
//       %0 = cat %a, %a dim = 1 : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf16>
//            ^^^
// exit 1

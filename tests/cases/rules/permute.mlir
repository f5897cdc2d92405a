// RUN: tilery check %s
// permute
entry @k() {
  %a = constant <f16: 0.0> : tile<2x4x8xf16>
  %0 = permute %a [2, 0, 1] : tile<2x4x8xf16> -> tile<8x2x4xf16>
  return
}
// =>
// -----
// permute has the permuted shape
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = permute %m [1, 0] : tile<4x8xf32> -> tile<4x8xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.permute' op result shape invalid at index 0, expected: 8, but got: 4
//       %0 = permute %m [1, 0] : tile<4x8xf32> -> tile<4x8xf32>
//            ^^^^^^^
// exit 1
// -----
// permute keeps the element
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = permute %m [1, 0] : tile<4x8xf32> -> tile<8x4xf16>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.permute' op failed to verify that all of {source, result} have the same element type
//       %0 = permute %m [1, 0] : tile<4x8xf32> -> tile<8x4xf16>
//            ^^^^^^^
// exit 1
// -----
// permute keeps the rank
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = permute %m [1, 0] : tile<4x8xf32> -> tile<8xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.permute' op failed to verify that all of {source, result} have same rank
//       %0 = permute %m [1, 0] : tile<4x8xf32> -> tile<8xf32>
//            ^^^^^^^
// exit 1

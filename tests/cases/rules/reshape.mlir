// RUN: tilery check %s
// reshape keeps the number of elements
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = reshape %m : tile<4x8xf32> -> tile<2x2x8x1xf32>
  return
}
// =>
// -----
// reshape to fewer elements
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = reshape %m : tile<4x8xf32> -> tile<16xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.reshape' op expected source tile and result tile to have the same number of elements
//       %0 = reshape %m : tile<4x8xf32> -> tile<16xf32>
//            ^^^^^^^
// exit 1
// -----
// reshape of a scalar
entry @k(%n: tile<i32>) {
  %0 = reshape %n : tile<i32> -> tile<1x1x1xi32>
  return
}
// =>
// -----
// reshape keeps the element
entry @k(%n: tile<i32>) {
  %0 = reshape %n : tile<i32> -> tile<1xi16>
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.reshape' op requires the same element type for all operands and results
//       %0 = reshape %n : tile<i32> -> tile<1xi16>
//            ^^^^^^^
// exit 1

// RUN: tilery check %s
// broadcast stretches sizes of one
entry @k() {
  %a = constant <f32: 0.0> : tile<8x1xf32>
  %0 = broadcast %a : tile<8x1xf32> -> tile<8x4xf32>
  return
}
// =>
// -----
// broadcast keeps other sizes
entry @k() {
  %a = constant <f32: 0.0> : tile<8x1xf32>
  %0 = broadcast %a : tile<8x1xf32> -> tile<4x4xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.broadcast' op expects the shape of source tile to be compatible with that of the result tile, but got: 8, 1 and 4, 4
//       %0 = broadcast %a : tile<8x1xf32> -> tile<4x4xf32>
//            ^^^^^^^^^
// exit 1
// -----
// broadcast keeps the rank
entry @k() {
  %a = constant <f32: 0.0> : tile<8x1xf32>
  %0 = broadcast %a : tile<8x1xf32> -> tile<8xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.broadcast' op failed to verify that all of {source, result} have same rank
//       %0 = broadcast %a : tile<8x1xf32> -> tile<8xf32>
//            ^^^^^^^^^
// exit 1
// -----
// broadcast keeps the element
entry @k() {
  %a = constant <f32: 0.0> : tile<8x1xf32>
  %0 = broadcast %a : tile<8x1xf32> -> tile<8x4xf16>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.broadcast' op requires the same element type for all operands and results
//       %0 = broadcast %a : tile<8x1xf32> -> tile<8x4xf16>
//            ^^^^^^^^^
// exit 1

// RUN: tilery check %s
// constant of one value
entry @k() {
  %0 = constant <i16: 3> : tile<2x4xi16>
  return
}
// =>
// -----
// constant of a list
entry @k() {
  %0 = constant <f64: [0.5, 1.5, 2.5, 3.5]> : tile<4xf64>
  return
}
// =>
// -----
// constant of nested lists
entry @k() {
  %0 = constant <i32: [[1, 2], [3, 4]]> : tile<2x2xi32>
  return
}
// =>
// -----
// constant has the shape of its list
entry @k() {
  %0 = constant <i32: [1, 2]> : tile<4xi32>
  return
}
// =>
// stderr:
// in.mlir:3:33: error: custom op 'cuda_tile.constant' inferred shape of elements literal ([2]) does not match type ([4])
//       %0 = constant <i32: [1, 2]> : tile<4xi32>
//                                     ^^^^^^^^^^^
// note: for example: %0 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
// exit 1

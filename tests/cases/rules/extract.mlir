// RUN: tilery check %s
// extract of a slice
entry @k(%n: tile<i32>) {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = extract %m[%n, %n] : tile<4x8xf32> -> tile<2x4xf32>
  return
}
// =>
// -----
// extract divides the shape
entry @k(%n: tile<i32>) {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = extract %m[%n, %n] : tile<4x8xf32> -> tile<8x4xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.extract' op source dimension 0 size (4) must be evenly divisible by result dimension 0 size (8)
//       %0 = extract %m[%n, %n] : tile<4x8xf32> -> tile<8x4xf32>
//            ^^^^^^^
// exit 1
// -----
// extract keeps the rank
entry @k(%n: tile<i32>) {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = extract %m[%n, %n] : tile<4x8xf32> -> tile<4xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.extract' op failed to verify that all of {source, result} have same rank
//       %0 = extract %m[%n, %n] : tile<4x8xf32> -> tile<4xf32>
//            ^^^^^^^
// exit 1
// -----
// extract needs an index per dimension
entry @k(%n: tile<i32>) {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = extract %m[%n] : tile<4x8xf32> -> tile<2x4xf32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.extract' op expected 2 indices, but got 1
//       %0 = extract %m[%n] : tile<4x8xf32> -> tile<2x4xf32>
//            ^^^^^^^
// exit 1

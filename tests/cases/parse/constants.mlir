// RUN: tilery check %s
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = constant <i8: 256> : tile<i8>
}
// =>
// stderr:
// in.mlir:3:22: error: custom op 'cuda_tile.constant' integer constant out of range for type
//       %0 = constant <i8: 256> : tile<i8>
//                          ^^^
// note: for example: %0 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = constant <f16: 0x12345> : tile<f16>
}
// =>
// stderr:
// in.mlir:2:23: error: hexadecimal float constant out of range for type
//       %0 = constant <f16: 0x12345> : tile<f16>
//                           ^^^^^^^
// note: for example: %0 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = constant <f32: 1> : tile<f32>
}
// =>
// stderr:
// in.mlir:2:23: error: unexpected decimal integer literal for a floating point value
//       %0 = constant <f32: 1> : tile<f32>
//                           ^
// in.mlir:2:23: note: add a trailing dot to make the literal a float
// note: for example: %0 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = constant <i32: [1, 2]> : tile<4xi32>
}
// =>
// stderr:
// in.mlir:2:33: error: custom op 'cuda_tile.constant' inferred shape of elements literal ([2]) does not match type ([4])
//       %0 = constant <i32: [1, 2]> : tile<4xi32>
//                                     ^^^^^^^^^^^
// note: for example: %0 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = constant <i32: [[1, 2], [3]]> : tile<2x2xi32>
}
// =>
// stderr:
// in.mlir:2:35: error: custom op 'cuda_tile.constant' tensor literal is invalid; ranks are not consistent between elements
//       %0 = constant <i32: [[1, 2], [3]]> : tile<2x2xi32>
//                                       ^
// note: for example: %0 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = constant <f16: 1.0> : tile<f32>
}
// =>
// stderr:
// in.mlir:2:30: error: custom op 'cuda_tile.constant' mismatch between the element type: 'f16' and the tile element type 'f32'
//       %0 = constant <f16: 1.0> : tile<f32>
//                                  ^^^^^^^^^
// note: for example: %0 = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
// exit 1

// RUN: tilery check %s
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = iota : tile<3xi32>
}
// =>
// stderr:
// in.mlir:3:19: error: custom op 'cuda_tile.iota' all dimensions must be powers of two, got 3
//       %0 = iota : tile<3xi32>
//                       ^
// note: for example: %0 = iota : tile<128xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = iota : !cuda_tile.tile<3xi32>
}
// =>
// stderr:
// in.mlir:2:30: error: all dimensions must be powers of two, got 3
//       %0 = iota : !cuda_tile.tile<3xi32>
//                                  ^
// note: for example: %0 = iota : tile<128xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = iota : tile<?xi32>
}
// =>
// stderr:
// in.mlir:2:20: error: expected static shape
//       %0 = iota : tile<?xi32>
//                        ^
// note: for example: %0 = iota : tile<128xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = iota : pluto {}
}
// =>
// stderr:
// in.mlir:2:21: error: custom op 'cuda_tile.iota' unknown type: pluto
//       %0 = iota : pluto {}
//                         ^
// note: for example: %0 = iota : tile<128xi32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = iota : !pluto
}
// =>
// stderr:
// in.mlir:2:21: error: undefined symbol alias id 'pluto'
//       %0 = iota : !pluto
//                         ^
// note: for example: %0 = iota : tile<128xi32>
// exit 1

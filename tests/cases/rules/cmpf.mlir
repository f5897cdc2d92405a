// RUN: tilery check %s
// cmpf
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = cmpf less_than unordered %m, %m : tile<4x8xf32> -> tile<4x8xi1>
  return
}
// =>
// -----
// cmpf gives a mask of the same shape
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = cmpf equal ordered %m, %m : tile<4x8xf32> -> tile<4xi1>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.cmpf' op failed to verify that Result type has i1 element type and same shape as operands
//       %0 = cmpf equal ordered %m, %m : tile<4x8xf32> -> tile<4xi1>
//            ^^^^
// exit 1
// -----
// cmpf of integers
entry @k(%n: tile<i32>) {
  %0 = cmpf equal ordered %n, %n : tile<i32> -> tile<i1>
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.cmpf' op operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got '!cuda_tile.tile<i32>'
//       %0 = cmpf equal ordered %n, %n : tile<i32> -> tile<i1>
//            ^^^^
// exit 1
// -----
// cmpf of two types
entry @k(%x: tile<f32>) {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = cmpf equal ordered %x, %m : tile<f32> -> tile<i1>
  return
}
// =>
// stderr:
// in.mlir:4:31: error: use of value '%m' expects different type than prior uses: '!cuda_tile.tile<f32>' vs '!cuda_tile.tile<4x8xf32>'
//       %0 = cmpf equal ordered %x, %m : tile<f32> -> tile<i1>
//                                   ^^
// in.mlir:3:3: note: prior use here
// note: for example: %0 = cmpf less_than ordered %x, %x : tile<f32> -> tile<i1>
// exit 1

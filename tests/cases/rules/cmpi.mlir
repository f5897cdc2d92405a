// RUN: tilery check %s
// cmpi of two types
entry @k(%n: tile<i32>) {
  %v = iota : tile<8xi32>
  %0 = cmpi equal %n, %v, signed : tile<i32> -> tile<i1>
  return
}
// =>
// stderr:
// in.mlir:5:23: error: use of value '%v' expects different type than prior uses: '!cuda_tile.tile<i32>' vs '!cuda_tile.tile<8xi32>'
//       %0 = cmpi equal %n, %v, signed : tile<i32> -> tile<i1>
//                           ^^
// in.mlir:4:3: note: prior use here
// note: for example: %0 = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>
// exit 1
// -----
// cmpi
entry @k() {
  %v = iota : tile<8xi32>
  %0 = cmpi less_than %v, %v, signed : tile<8xi32> -> tile<8xi1>
  return
}
// =>
// -----
// cmpi gives a mask
entry @k() {
  %v = iota : tile<8xi32>
  %0 = cmpi less_than %v, %v, signed : tile<8xi32> -> tile<8xi32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.cmpi' op result #0 must be tile of i1 values, but got '!cuda_tile.tile<8xi32>'
//       %0 = cmpi less_than %v, %v, signed : tile<8xi32> -> tile<8xi32>
//            ^^^^
// exit 1
// -----
// cmpi of floats
entry @k(%x: tile<f32>) {
  %0 = cmpi less_than %x, %x, signed : tile<f32> -> tile<i1>
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.cmpi' op operand #0 must be tile of i1 or i8 or i16 or i32 or i64 values, but got '!cuda_tile.tile<f32>'
//       %0 = cmpi less_than %x, %x, signed : tile<f32> -> tile<i1>
//            ^^^^
// exit 1

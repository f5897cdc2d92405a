// RUN: tilery check %s
// iota has one dimension
entry @k() {
  %0 = iota : tile<8x8xi32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.iota' op expects result type to be 1-d tile
//       %0 = iota : tile<8x8xi32>
//            ^^^^
// exit 1
// -----
// iota fits its element
entry @k() {
  %0 = iota : tile<256xi8>
  return
}
// =>
// -----
// iota does not fit its element
entry @k() {
  %0 = iota : tile<512xi8>
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.iota' op the number of elements 512 exceeds the maximum value of element type 'i8'
//       %0 = iota : tile<512xi8>
//            ^^^^
// exit 1

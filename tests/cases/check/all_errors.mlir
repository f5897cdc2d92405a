// RUN: tilery check %s
// RUN: tilery opt %s
// Every error is listed, and passes refuse the module.
entry @k(%x: tile<i32>) {
  %0 = iota : tile<512xi8>
  %1 = iota : tile<1024xi8>
}
// =>
// $ tilery check %s
// stderr:
// in.mlir:5:8: error: 'cuda_tile.iota' op the number of elements 512 exceeds the maximum value of element type 'i8'
//       %0 = iota : tile<512xi8>
//            ^^^^
// in.mlir:6:8: error: 'cuda_tile.iota' op the number of elements 1024 exceeds the maximum value of element type 'i8'
//       %1 = iota : tile<1024xi8>
//            ^^^^
// exit 1
// $ tilery opt %s
// stderr:
// in.mlir:5:8: error: 'cuda_tile.iota' op the number of elements 512 exceeds the maximum value of element type 'i8'
//       %0 = iota : tile<512xi8>
//            ^^^^
// exit 1

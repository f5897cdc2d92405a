// RUN: tilery check %s
// exti to a wider type
entry @k(%n: tile<i32>) {
  %0 = exti %n unsigned : tile<i32> -> tile<i64>
  return
}
// =>
// -----
// exti to the same type
entry @k(%n: tile<i32>) {
  %0 = exti %n signed : tile<i32> -> tile<i32>
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.exti' op extending to smaller or identical integer
//       %0 = exti %n signed : tile<i32> -> tile<i32>
//            ^^^^
// exit 1
// -----
// exti keeps the shape
entry @k() {
  %v = iota : tile<8xi32>
  %0 = exti %v signed : tile<8xi32> -> tile<4xi64>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.exti' op failed to verify that all of {from, to} have same shape
//       %0 = exti %v signed : tile<8xi32> -> tile<4xi64>
//            ^^^^
// exit 1

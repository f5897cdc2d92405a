// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: -1> : tile<i8>
  %t = constant <i1: true> : tile<i1>
  %r0 = exti %a signed : tile<i8> -> tile<i32>
  print_tko "%d", %r0 : tile<i32> -> token
  %r1 = exti %a unsigned : tile<i8> -> tile<i32>
  print_tko "%d", %r1 : tile<i32> -> token
  %r2 = exti %t unsigned : tile<i1> -> tile<i32>
  print_tko "%d", %r2 : tile<i32> -> token
  %r3 = exti %t signed : tile<i1> -> tile<i32>
  print_tko "%d", %r3 : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %true = constant <i1: true> : tile<i1>
//   %cst_-1_i32 = constant <i32: -1> : tile<i32>
//   %0 = print_tko "%d", %cst_-1_i32 : tile<i32> -> token
//   %cst_255_i32 = constant <i32: 255> : tile<i32>
//   %1 = print_tko "%d", %cst_255_i32 : tile<i32> -> token
//   %cst_1_i32 = constant <i32: 1> : tile<i32>
//   %2 = print_tko "%d", %cst_1_i32 : tile<i32> -> token
//   %3 = exti %true signed : tile<i1> -> tile<i32>
//   %4 = print_tko "%d", %3 : tile<i32> -> token
//   return
// }
// stderr:
// fold-int: 4 changes
//          3  fold_extension
//          1  dead

// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: -8> : tile<i8>
  %b = constant <i8: 1> : tile<i8>
  %e = constant <i8: 8> : tile<i8>
  %r0 = shri %a, %b signed : tile<i8>
  print_tko "%d", %r0 : tile<i8> -> token
  %r1 = shri %a, %b unsigned : tile<i8>
  print_tko "%d", %r1 : tile<i8> -> token
  %r2 = shri %a, %e unsigned : tile<i8>
  print_tko "%d", %r2 : tile<i8> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_-8_i8 = constant <i8: -8> : tile<i8>
//   %cst_8_i8 = constant <i8: 8> : tile<i8>
//   %cst_-4_i8 = constant <i8: -4> : tile<i8>
//   %0 = print_tko "%d", %cst_-4_i8 : tile<i8> -> token
//   %cst_124_i8 = constant <i8: 124> : tile<i8>
//   %1 = print_tko "%d", %cst_124_i8 : tile<i8> -> token
//   %2 = shri %cst_-8_i8, %cst_8_i8 unsigned : tile<i8>
//   %3 = print_tko "%d", %2 : tile<i8> -> token
//   return
// }
// stderr:
// fold-int: 3 changes
//          2  fold_shift_right
//          1  dead

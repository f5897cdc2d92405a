// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: -7> : tile<i8>
  %b = constant <i8: 2> : tile<i8>
  %z = constant <i8: 0> : tile<i8>
  %r0 = remi %a, %b signed : tile<i8>
  print_tko "%d", %r0 : tile<i8> -> token
  %r1 = remi %b, %a signed : tile<i8>
  print_tko "%d", %r1 : tile<i8> -> token
  %r2 = remi %a, %b unsigned : tile<i8>
  print_tko "%d", %r2 : tile<i8> -> token
  %r3 = remi %a, %z signed : tile<i8>
  print_tko "%d", %r3 : tile<i8> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_-7_i8 = constant <i8: -7> : tile<i8>
//   %cst_0_i8 = constant <i8: 0> : tile<i8>
//   %cst_-1_i8 = constant <i8: -1> : tile<i8>
//   %0 = print_tko "%d", %cst_-1_i8 : tile<i8> -> token
//   %cst_2_i8 = constant <i8: 2> : tile<i8>
//   %1 = print_tko "%d", %cst_2_i8 : tile<i8> -> token
//   %cst_1_i8 = constant <i8: 1> : tile<i8>
//   %2 = print_tko "%d", %cst_1_i8 : tile<i8> -> token
//   %3 = remi %cst_-7_i8, %cst_0_i8 signed : tile<i8>
//   %4 = print_tko "%d", %3 : tile<i8> -> token
//   return
// }
// stderr:
// fold-int: 4 changes
//          3  fold_remainder
//          1  dead

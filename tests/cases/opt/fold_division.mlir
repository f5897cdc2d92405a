// RUN: tilery opt --stats --passes fold-int %s
// By zero it is undefined, and so is the smallest integer by -1.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: -7> : tile<i8>
  %b = constant <i8: 2> : tile<i8>
  %z = constant <i8: 0> : tile<i8>
  %m = constant <i8: -128> : tile<i8>
  %n = constant <i8: -1> : tile<i8>
  %r0 = divi %a, %b signed : tile<i8>
  print_tko "%d", %r0 : tile<i8> -> token
  %r1 = divi %a, %b signed rounding<negative_inf> : tile<i8>
  print_tko "%d", %r1 : tile<i8> -> token
  %r2 = divi %a, %b signed rounding<positive_inf> : tile<i8>
  print_tko "%d", %r2 : tile<i8> -> token
  %r3 = divi %a, %b unsigned : tile<i8>
  print_tko "%d", %r3 : tile<i8> -> token
  %r4 = divi %a, %b unsigned rounding<positive_inf> : tile<i8>
  print_tko "%d", %r4 : tile<i8> -> token
  %r5 = divi %a, %z signed : tile<i8>
  print_tko "%d", %r5 : tile<i8> -> token
  %r6 = divi %m, %n signed : tile<i8>
  print_tko "%d", %r6 : tile<i8> -> token
  %r7 = divi %m, %n unsigned : tile<i8>
  print_tko "%d", %r7 : tile<i8> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_-7_i8 = constant <i8: -7> : tile<i8>
//   %cst_0_i8 = constant <i8: 0> : tile<i8>
//   %cst_-128_i8 = constant <i8: -128> : tile<i8>
//   %cst_-1_i8 = constant <i8: -1> : tile<i8>
//   %cst_-3_i8 = constant <i8: -3> : tile<i8>
//   %0 = print_tko "%d", %cst_-3_i8 : tile<i8> -> token
//   %cst_-4_i8 = constant <i8: -4> : tile<i8>
//   %1 = print_tko "%d", %cst_-4_i8 : tile<i8> -> token
//   %cst_-3_i8_0 = constant <i8: -3> : tile<i8>
//   %2 = print_tko "%d", %cst_-3_i8_0 : tile<i8> -> token
//   %cst_124_i8 = constant <i8: 124> : tile<i8>
//   %3 = print_tko "%d", %cst_124_i8 : tile<i8> -> token
//   %cst_125_i8 = constant <i8: 125> : tile<i8>
//   %4 = print_tko "%d", %cst_125_i8 : tile<i8> -> token
//   %5 = divi %cst_-7_i8, %cst_0_i8 signed : tile<i8>
//   %6 = print_tko "%d", %5 : tile<i8> -> token
//   %7 = divi %cst_-128_i8, %cst_-1_i8 signed : tile<i8>
//   %8 = print_tko "%d", %7 : tile<i8> -> token
//   %cst_0_i8_1 = constant <i8: 0> : tile<i8>
//   %9 = print_tko "%d", %cst_0_i8_1 : tile<i8> -> token
//   return
// }
// stderr:
// fold-int: 7 changes
//          6  fold_division
//          1  dead

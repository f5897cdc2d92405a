// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: 65> : tile<i8>
  %b = constant <i8: 1> : tile<i8>
  %e = constant <i8: 8> : tile<i8>
  %r0 = shli %a, %b : tile<i8>
  print_tko "%d", %r0 : tile<i8> -> token
  %r1 = shli %a, %b overflow<no_signed_wrap> : tile<i8>
  print_tko "%d", %r1 : tile<i8> -> token
  %r2 = shli %a, %b overflow<no_unsigned_wrap> : tile<i8>
  print_tko "%d", %r2 : tile<i8> -> token
  %r3 = shli %a, %e : tile<i8>
  print_tko "%d", %r3 : tile<i8> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_65_i8 = constant <i8: 65> : tile<i8>
//   %cst_1_i8 = constant <i8: 1> : tile<i8>
//   %cst_8_i8 = constant <i8: 8> : tile<i8>
//   %cst_-126_i8 = constant <i8: -126> : tile<i8>
//   %0 = print_tko "%d", %cst_-126_i8 : tile<i8> -> token
//   %1 = shli %cst_65_i8, %cst_1_i8 overflow<no_signed_wrap> : tile<i8>
//   %2 = print_tko "%d", %1 : tile<i8> -> token
//   %cst_-126_i8_0 = constant <i8: -126> : tile<i8>
//   %3 = print_tko "%d", %cst_-126_i8_0 : tile<i8> -> token
//   %4 = shli %cst_65_i8, %cst_8_i8 : tile<i8>
//   %5 = print_tko "%d", %4 : tile<i8> -> token
//   return
// }
// stderr:
// fold-int: 2 changes
//          2  fold_shift_left

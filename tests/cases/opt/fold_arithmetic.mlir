// RUN: tilery opt --stats --passes fold-int %s
// A broken promise about overflow is left alone.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: 127> : tile<i8>
  %b = constant <i8: 1> : tile<i8>
  %r0 = addi %a, %b : tile<i8>
  print_tko "%d", %r0 : tile<i8> -> token
  %r1 = addi %a, %b overflow<no_signed_wrap> : tile<i8>
  print_tko "%d", %r1 : tile<i8> -> token
  %r2 = addi %a, %b overflow<no_unsigned_wrap> : tile<i8>
  print_tko "%d", %r2 : tile<i8> -> token
  %r3 = subi %b, %a : tile<i8>
  print_tko "%d", %r3 : tile<i8> -> token
  %r4 = subi %b, %a overflow<no_unsigned_wrap> : tile<i8>
  print_tko "%d", %r4 : tile<i8> -> token
  %r5 = muli %a, %a : tile<i8>
  print_tko "%d", %r5 : tile<i8> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_127_i8 = constant <i8: 127> : tile<i8>
//   %cst_1_i8 = constant <i8: 1> : tile<i8>
//   %cst_-128_i8 = constant <i8: -128> : tile<i8>
//   %0 = print_tko "%d", %cst_-128_i8 : tile<i8> -> token
//   %1 = addi %cst_127_i8, %cst_1_i8 overflow<no_signed_wrap> : tile<i8>
//   %2 = print_tko "%d", %1 : tile<i8> -> token
//   %cst_-128_i8_0 = constant <i8: -128> : tile<i8>
//   %3 = print_tko "%d", %cst_-128_i8_0 : tile<i8> -> token
//   %cst_-126_i8 = constant <i8: -126> : tile<i8>
//   %4 = print_tko "%d", %cst_-126_i8 : tile<i8> -> token
//   %5 = subi %cst_1_i8, %cst_127_i8 overflow<no_unsigned_wrap> : tile<i8>
//   %6 = print_tko "%d", %5 : tile<i8> -> token
//   %cst_1_i8_1 = constant <i8: 1> : tile<i8>
//   %7 = print_tko "%d", %cst_1_i8_1 : tile<i8> -> token
//   return
// }
// stderr:
// fold-int: 4 changes
//          4  fold_arithmetic

// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i32: 200> : tile<i32>
  %r0 = trunci %a : tile<i32> -> tile<i8>
  print_tko "%d", %r0 : tile<i8> -> token
  %r1 = trunci %a overflow<no_signed_wrap> : tile<i32> -> tile<i8>
  print_tko "%d", %r1 : tile<i8> -> token
  %r2 = trunci %a overflow<no_unsigned_wrap> : tile<i32> -> tile<i8>
  print_tko "%d", %r2 : tile<i8> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_200_i32 = constant <i32: 200> : tile<i32>
//   %cst_-56_i8 = constant <i8: -56> : tile<i8>
//   %0 = print_tko "%d", %cst_-56_i8 : tile<i8> -> token
//   %1 = trunci %cst_200_i32 overflow<no_signed_wrap> : tile<i32> -> tile<i8>
//   %2 = print_tko "%d", %1 : tile<i8> -> token
//   %cst_-56_i8_0 = constant <i8: -56> : tile<i8>
//   %3 = print_tko "%d", %cst_-56_i8_0 : tile<i8> -> token
//   return
// }
// stderr:
// fold-int: 2 changes
//          2  fold_truncation

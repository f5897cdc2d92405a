// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: -128> : tile<i8>
  %b = constant <i8: -5> : tile<i8>
  %r0 = absi %a : tile<i8>
  print_tko "%d", %r0 : tile<i8> -> token
  %r1 = absi %b : tile<i8>
  print_tko "%d", %r1 : tile<i8> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_-128_i8 = constant <i8: -128> : tile<i8>
//   %0 = print_tko "%d", %cst_-128_i8 : tile<i8> -> token
//   %cst_5_i8 = constant <i8: 5> : tile<i8>
//   %1 = print_tko "%d", %cst_5_i8 : tile<i8> -> token
//   return
// }
// stderr:
// fold-int: 4 changes
//          2  fold_absolute
//          2  dead

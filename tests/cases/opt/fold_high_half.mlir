// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i32: -1> : tile<i32>
  %r0 = mulhii %a, %a : tile<i32>
  print_tko "%d", %r0 : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_-2_i32 = constant <i32: -2> : tile<i32>
//   %0 = print_tko "%d", %cst_-2_i32 : tile<i32> -> token
//   return
// }
// stderr:
// fold-int: 2 changes
//          1  fold_high_half
//          1  dead

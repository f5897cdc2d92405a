// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i32: 7> : tile<1xi32>
  %b = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
  %e = broadcast %a : tile<1xi32> -> tile<4xi32>
  %f = reshape %b : tile<4xi32> -> tile<2x2xi32>
  %g = permute %f [1, 0] : tile<2x2xi32> -> tile<2x2xi32>
  print_tko "%d", %e : tile<4xi32> -> token
  print_tko "%d", %g : tile<2x2xi32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_7_i32 = constant <i32: 7> : tile<4xi32>
//   %cst_i32 = constant <i32: [[1, 2], [3, 4]]> : tile<2x2xi32>
//   %0 = permute %cst_i32 [1, 0] : tile<2x2xi32> -> tile<2x2xi32>
//   %1 = print_tko "%d", %cst_7_i32 : tile<4xi32> -> token
//   %2 = print_tko "%d", %0 : tile<2x2xi32> -> token
//   return
// }
// stderr:
// fold-int: 4 changes
//          2  fold_shape
//          2  dead

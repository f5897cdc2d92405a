// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: [12, 10]> : tile<2xi8>
  %b = constant <i8: 6> : tile<2xi8>
  %andi = andi %a, %b : tile<2xi8>
  print_tko "%d", %andi : tile<2xi8> -> token
  %ori = ori %a, %b : tile<2xi8>
  print_tko "%d", %ori : tile<2xi8> -> token
  %xori = xori %a, %b : tile<2xi8>
  print_tko "%d", %xori : tile<2xi8> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_i8 = constant <i8: [4, 2]> : tile<2xi8>
//   %0 = print_tko "%d", %cst_i8 : tile<2xi8> -> token
//   %cst_14_i8 = constant <i8: 14> : tile<2xi8>
//   %1 = print_tko "%d", %cst_14_i8 : tile<2xi8> -> token
//   %cst_i8_0 = constant <i8: [10, 12]> : tile<2xi8>
//   %2 = print_tko "%d", %cst_i8_0 : tile<2xi8> -> token
//   return
// }
// stderr:
// fold-int: 5 changes
//          3  fold_bitwise
//          2  dead

// RUN: tilery opt --stats --passes simplify %s
entry @k(%s: tile<i32>) {
  %q = reshape %s : tile<i32> -> tile<1xi32>
  %v = broadcast %q : tile<1xi32> -> tile<4xi32>
  %k = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
  %l = constant <i32: [10, 20, 30, 40]> : tile<4xi32>
  %a = addi %v, %k : tile<4xi32>
  %r = addi %a, %l : tile<4xi32>
  print_tko "%d", %r : tile<4xi32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i32>) {
//   %reshape = reshape %arg0 : tile<i32> -> tile<1xi32>
//   %bcast = broadcast %reshape : tile<1xi32> -> tile<4xi32>
//   %cst_i32 = constant <i32: [11, 22, 33, 44]> : tile<4xi32>
//   %0 = addi %bcast, %cst_i32 : tile<4xi32>
//   %1 = print_tko "%d", %0 : tile<4xi32> -> token
//   return
// }
// stderr:
// simplify: 6 changes
//          3  dead
//          1  simplify_sum_tables
//          1  simplify_sum_collect
//          1  simplify_sum_flatten
// -----
entry @k(%s: tile<i32>) {
  %q = reshape %s : tile<i32> -> tile<1xi32>
  %v = broadcast %q : tile<1xi32> -> tile<4xi32>
  %k = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
  %l = constant <i32: [10, 20, 30, 40]> : tile<4xi32>
  %a = andi %v, %k : tile<4xi32>
  %r = andi %a, %l : tile<4xi32>
  print_tko "%d", %r : tile<4xi32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i32>) {
//   %reshape = reshape %arg0 : tile<i32> -> tile<1xi32>
//   %bcast = broadcast %reshape : tile<1xi32> -> tile<4xi32>
//   %cst_i32 = constant <i32: [0, 0, 2, 0]> : tile<4xi32>
//   %0 = andi %bcast, %cst_i32 : tile<4xi32>
//   %1 = print_tko "%d", %0 : tile<4xi32> -> token
//   return
// }
// stderr:
// simplify: 6 changes
//          3  dead
//          1  simplify_known_elements
//          1  simplify_combine_tables
//          1  simplify_flatten
// -----
entry @k(%s: tile<i32>) {
  %q = reshape %s : tile<i32> -> tile<1xi32>
  %v = broadcast %q : tile<1xi32> -> tile<4xi32>
  %k = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
  %l = constant <i32: [10, 20, 30, 40]> : tile<4xi32>
  %a = addi %k, %l : tile<4xi32>
  %r = xori %v, %a : tile<4xi32>
  print_tko "%d", %r : tile<4xi32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i32>) {
//   %reshape = reshape %arg0 : tile<i32> -> tile<1xi32>
//   %bcast = broadcast %reshape : tile<1xi32> -> tile<4xi32>
//   %cst_i32 = constant <i32: [11, 22, 33, 44]> : tile<4xi32>
//   %0 = xori %bcast, %cst_i32 : tile<4xi32>
//   %1 = print_tko "%d", %0 : tile<4xi32> -> token
//   return
// }
// stderr:
// simplify: 4 changes
//          2  dead
//          1  simplify_sum_trivial
//          1  simplify_sum_tables
// -----
entry @k(%s: tile<i32>) {
  %q = reshape %s : tile<i32> -> tile<1xi32>
  %v = broadcast %q : tile<1xi32> -> tile<4xi32>
  %k = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
  %l = constant <i32: [10, 20, 30, 40]> : tile<4xi32>
  %a = divi %l, %k signed : tile<4xi32>
  %r = xori %v, %a : tile<4xi32>
  print_tko "%d", %r : tile<4xi32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i32>) {
//   %reshape = reshape %arg0 : tile<i32> -> tile<1xi32>
//   %bcast = broadcast %reshape : tile<1xi32> -> tile<4xi32>
//   %cst_10_i32 = constant <i32: 10> : tile<4xi32>
//   %0 = xori %bcast, %cst_10_i32 : tile<4xi32>
//   %1 = print_tko "%d", %0 : tile<4xi32> -> token
//   return
// }
// stderr:
// simplify: 3 changes
//          2  dead
//          1  simplify_known_elements
// -----
entry @k(%s: tile<i32>) {
  %q = reshape %s : tile<i32> -> tile<1xi32>
  %v = broadcast %q : tile<1xi32> -> tile<4xi32>
  %k = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
  %l = constant <i32: [10, 20, 30, 40]> : tile<4xi32>
  %a = subi %v, %k : tile<4xi32>
  %r = addi %a, %k : tile<4xi32>
  print_tko "%d", %r : tile<4xi32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i32>) {
//   %reshape = reshape %arg0 : tile<i32> -> tile<1xi32>
//   %bcast = broadcast %reshape : tile<1xi32> -> tile<4xi32>
//   %0 = print_tko "%d", %bcast : tile<4xi32> -> token
//   return
// }
// stderr:
// simplify: 7 changes
//          3  dead
//          1  simplify_sum_trivial
//          1  simplify_sum_flatten
//          1  simplify_sum_tables
//          1  simplify_sum_collect

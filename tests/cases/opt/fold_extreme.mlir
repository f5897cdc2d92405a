// RUN: tilery opt --stats --passes fold-int %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %a = constant <i8: -1> : tile<i8>
  %b = constant <i8: 5> : tile<i8>
  %t = constant <i1: true> : tile<i1>
  %f = constant <i1: false> : tile<i1>
  %r0 = maxi %a, %b signed : tile<i8>
  print_tko "%d", %r0 : tile<i8> -> token
  %r1 = maxi %a, %b unsigned : tile<i8>
  print_tko "%d", %r1 : tile<i8> -> token
  %r2 = mini %a, %b signed : tile<i8>
  print_tko "%d", %r2 : tile<i8> -> token
  %r3 = mini %a, %b unsigned : tile<i8>
  print_tko "%d", %r3 : tile<i8> -> token
  %r4 = maxi %t, %f unsigned : tile<i1>
  print_tko "%d", %r4 : tile<i1> -> token
  %r5 = maxi %t, %f signed : tile<i1>
  print_tko "%d", %r5 : tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %true = constant <i1: true> : tile<i1>
//   %false = constant <i1: false> : tile<i1>
//   %cst_5_i8 = constant <i8: 5> : tile<i8>
//   %0 = print_tko "%d", %cst_5_i8 : tile<i8> -> token
//   %cst_-1_i8 = constant <i8: -1> : tile<i8>
//   %1 = print_tko "%d", %cst_-1_i8 : tile<i8> -> token
//   %cst_-1_i8_0 = constant <i8: -1> : tile<i8>
//   %2 = print_tko "%d", %cst_-1_i8_0 : tile<i8> -> token
//   %cst_5_i8_1 = constant <i8: 5> : tile<i8>
//   %3 = print_tko "%d", %cst_5_i8_1 : tile<i8> -> token
//   %true_2 = constant <i1: true> : tile<i1>
//   %4 = print_tko "%d", %true_2 : tile<i1> -> token
//   %5 = maxi %true, %false signed : tile<i1>
//   %6 = print_tko "%d", %5 : tile<i1> -> token
//   return
// }
// stderr:
// fold-int: 7 changes
//          5  fold_extreme
//          2  dead

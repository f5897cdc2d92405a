// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %i = select %c, %x, %y : tile<i1>, tile<i32>
  %z = addi %x, %y : tile<i32>
  %r = select %c, %i, %z : tile<i1>, tile<i32>
  %s = select %c, %z, %i : tile<i1>, tile<i32>
  %t = select %d, %z, %i : tile<i1>, tile<i32>
  print_tko "%d", %r : tile<i32> -> token
  print_tko "%d", %s : tile<i32> -> token
  print_tko "%d", %t : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = select %arg0, %arg2, %arg3 : tile<i1>, tile<i32>
//   %1 = addi %arg2, %arg3 : tile<i32>
//   %2 = select %arg0, %arg2, %1 : tile<i1>, tile<i32>
//   %3 = select %arg0, %1, %arg3 : tile<i1>, tile<i32>
//   %4 = select %arg1, %1, %0 : tile<i1>, tile<i32>
//   %5 = print_tko "%d", %2 : tile<i32> -> token
//   %6 = print_tko "%d", %3 : tile<i32> -> token
//   %7 = print_tko "%d", %4 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 2 changes
//          2  select_nested

// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %e = cmpi equal %x, %y, signed : tile<i32> -> tile<i1>
  %n = cmpi not_equal %y, %x, unsigned : tile<i32> -> tile<i1>
  %l = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
  %r = select %e, %x, %y : tile<i1>, tile<i32>
  %s = select %n, %x, %y : tile<i1>, tile<i32>
  %t = select %l, %x, %y : tile<i1>, tile<i32>
  print_tko "%d", %r : tile<i32> -> token
  print_tko "%d", %s : tile<i32> -> token
  print_tko "%d", %t : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = cmpi less_than %arg2, %arg3, signed : tile<i32> -> tile<i1>
//   %1 = select %0, %arg2, %arg3 : tile<i1>, tile<i32>
//   %2 = print_tko "%d", %arg3 : tile<i32> -> token
//   %3 = print_tko "%d", %arg2 : tile<i32> -> token
//   %4 = print_tko "%d", %1 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 4 changes
//          2  select_compared
//          2  dead

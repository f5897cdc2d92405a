// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %r = select %c, %x, %x : tile<i1>, tile<i32>
  print_tko "%d", %r : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = print_tko "%d", %arg2 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 1 changes
//          1  select_same

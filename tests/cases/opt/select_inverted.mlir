// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %n = xori %c, %true : tile<i1>
  %r = select %n, %x, %y : tile<i1>, tile<i32>
  print_tko "%d", %r : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = select %arg0, %arg3, %arg2 : tile<i1>, tile<i32>
//   %1 = print_tko "%d", %0 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 3 changes
//          2  dead
//          1  select_inverted

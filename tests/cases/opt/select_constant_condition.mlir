// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %false = constant <i1: false> : tile<i1>
  %r = select %true, %x, %y : tile<i1>, tile<i32>
  %s = select %false, %x, %y : tile<i1>, tile<i32>
  print_tko "%d", %r : tile<i32> -> token
  print_tko "%d", %s : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = print_tko "%d", %arg2 : tile<i32> -> token
//   %1 = print_tko "%d", %arg3 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 4 changes
//          2  select_constant_condition
//          2  dead

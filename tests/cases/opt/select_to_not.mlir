// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %false = constant <i1: false> : tile<i1>
  %r = select %c, %false, %true : tile<i1>, tile<i1>
  print_tko "%d", %r : tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %true = constant <i1: true> : tile<i1>
//   %0 = xori %arg0, %true : tile<i1>
//   %1 = print_tko "%d", %0 : tile<i1> -> token
//   return
// }
// stderr:
// canonicalize: 2 changes
//          1  select_to_not
//          1  dead

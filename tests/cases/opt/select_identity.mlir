// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %false = constant <i1: false> : tile<i1>
  %r = select %c, %true, %false : tile<i1>, tile<i1>
  print_tko "%d", %r : tile<i1> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = print_tko "%d", %arg0 : tile<i1> -> token
//   return
// }
// stderr:
// canonicalize: 3 changes
//          2  dead
//          1  select_identity

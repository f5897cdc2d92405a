// RUN: tilery opt --stats --passes canonicalize %s
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %r = select %c, %one, %zero : tile<i1>, tile<i32>
  %s = select %c, %zero, %one : tile<i1>, tile<i32>
  print_tko "%d", %r : tile<i32> -> token
  print_tko "%d", %s : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %true = constant <i1: true> : tile<i1>
//   %0 = exti %arg0 unsigned : tile<i1> -> tile<i32>
//   %1 = xori %arg0, %true : tile<i1>
//   %2 = exti %1 unsigned : tile<i1> -> tile<i32>
//   %3 = print_tko "%d", %0 : tile<i32> -> token
//   %4 = print_tko "%d", %2 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 5 changes
//          2  select_to_exti
//          2  dead
//          1  constants

// RUN: tilery opt --stats --passes canonicalize %s
// Nothing behind an `if` whose branches both leave is executed.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %r = if %c -> (tile<i32>) {
    print_tko "%d", %x : tile<i32> -> token
    return
  } else {
    print_tko "%d", %y : tile<i32> -> token
    return
  }
  print_tko "%d", %r : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   if %arg0 {
//     %1 = print_tko "%d", %arg2 : tile<i32> -> token
//     return
//   }
//   %0 = print_tko "%d", %arg3 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 1 changes
//          1  MoveTerminatorToParent

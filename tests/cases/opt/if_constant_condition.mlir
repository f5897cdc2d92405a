// RUN: tilery opt --stats --passes canonicalize %s
// A branch that returns drops what follows.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %false = constant <i1: false> : tile<i1>
  %r = if %true -> (tile<i32>) {
    %a = addi %x, %y : tile<i32>
    yield %a : tile<i32>
  } else {
    yield %x : tile<i32>
  }
  if %false {
    print_tko "%d", %x : tile<i32> -> token
  }
  print_tko "%d", %r : tile<i32> -> token
  if %false {
    print_tko "%d", %x : tile<i32> -> token
  } else {
    print_tko "%d", %y : tile<i32> -> token
    return
  }
  print_tko "%d", %x : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = addi %arg2, %arg3 : tile<i32>
//   %1 = print_tko "%d", %0 : tile<i32> -> token
//   %2 = print_tko "%d", %arg3 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 5 changes
//          3  RemoveStaticCondition
//          2  dead

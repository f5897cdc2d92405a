// RUN: tilery opt --stats --passes canonicalize %s
// What follows a branch that leaves belongs to the other branch only.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %r = if %c -> (tile<i32>) {
    print_tko "%d", %x : tile<i32> -> token
    return
  } else {
    %a = subi %x, %y : tile<i32>
    yield %a : tile<i32>
  }
  %s = if %c -> (tile<i32>) {
    %a = muli %x, %x : tile<i32>
    yield %a : tile<i32>
  } else {
    %a = muli %r, %y : tile<i32>
    yield %a : tile<i32>
  }
  print_tko "%d", %s : tile<i32> -> token
  if %d {
    print_tko "%d", %x : tile<i32> -> token
  }
  if %d {
    print_tko "%d", %y : tile<i32> -> token
    return
  }
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = if %arg0 -> (tile<i32>) {
//     %2 = print_tko "%d", %arg2 : tile<i32> -> token
//     return
//   } else {
//     %2 = subi %arg2, %arg3 : tile<i32>
//     %3 = muli %2, %arg3 : tile<i32>
//     yield %3 : tile<i32>
//   }
//   %1 = print_tko "%d", %0 : tile<i32> -> token
//   if %arg1 {
//     %2 = print_tko "%d", %arg2 : tile<i32> -> token
//     %3 = print_tko "%d", %arg3 : tile<i32> -> token
//     return
//   }
//   return
// }
// stderr:
// canonicalize: 3 changes
//          2  CombineIfs
//          1  RemoveUnusedResults

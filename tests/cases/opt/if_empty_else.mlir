// RUN: tilery opt --stats --passes canonicalize %s
// An `else` that yields nothing says nothing.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  if %c {
    print_tko "%d", %x : tile<i32> -> token
  } else {
  }
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   if %arg0 {
//     %0 = print_tko "%d", %arg2 : tile<i32> -> token
//   }
//   return
// }
// stderr:
// canonicalize: 1 changes
//          1  RemoveEmptyElseBranch

// RUN: tilery opt --stats --passes canonicalize %s
// Where one branch leaves, the other one decides; tokens cannot be selected.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %r = if %c -> (tile<i32>) {
    return
  } else {
    yield %y : tile<i32>
  }
  print_tko "%d", %r : tile<i32> -> token
  %s = make_token : token
  %t = make_token : token
  %u = if %c -> (token) {
    yield %s : token
  } else {
    yield %t : token
  }
  %v = print_tko "%d", %x token=%u : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   if %arg0 {
//     return
//   }
//   %0 = print_tko "%d", %arg3 : tile<i32> -> token
//   %1 = make_token : token
//   %2 = make_token : token
//   %3 = if %arg0 -> (token) {
//     yield %1 : token
//   } else {
//     yield %2 : token
//   }
//   %4 = print_tko "%d", %arg2 token=%3 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 2 changes
//          1  ConvertToSelect
//          1  RemoveEmptyElseBranch

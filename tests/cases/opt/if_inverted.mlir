// RUN: tilery opt --stats --passes canonicalize %s
// An `else` is needed, and only the right operand of xori is looked at.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %not = xori %c, %true : tile<i1>
  if %not {
    print_tko "%d", %x : tile<i32> -> token
  } else {
    print_tko "%d", %y : tile<i32> -> token
  }
  print_tko "%d", %x : tile<i32> -> token
  if %not {
    print_tko "%d", %y : tile<i32> -> token
  }
  print_tko "%d", %x : tile<i32> -> token
  %left = xori %true, %c : tile<i1>
  if %left {
    print_tko "%d", %x : tile<i32> -> token
  } else {
    print_tko "%d", %y : tile<i32> -> token
  }
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %true = constant <i1: true> : tile<i1>
//   %0 = xori %arg0, %true : tile<i1>
//   if %arg0 {
//     %4 = print_tko "%d", %arg3 : tile<i32> -> token
//   } else {
//     %4 = print_tko "%d", %arg2 : tile<i32> -> token
//   }
//   %1 = print_tko "%d", %arg2 : tile<i32> -> token
//   if %0 {
//     %4 = print_tko "%d", %arg3 : tile<i32> -> token
//   }
//   %2 = print_tko "%d", %arg2 : tile<i32> -> token
//   %3 = xori %true, %arg0 : tile<i1>
//   if %3 {
//     %4 = print_tko "%d", %arg2 : tile<i32> -> token
//   } else {
//     %4 = print_tko "%d", %arg3 : tile<i32> -> token
//   }
//   return
// }
// stderr:
// canonicalize: 1 changes
//          1  if_inverted

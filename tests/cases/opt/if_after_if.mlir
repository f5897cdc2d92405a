// RUN: tilery opt --stats --passes canonicalize %s
// Conditions that are equal, or one the inverse of the other; the results of the first are known in the second.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %r = if %c -> (tile<i32>) {
    %a = addi %x, %y : tile<i32>
    yield %a : tile<i32>
  } else {
    %a = subi %x, %y : tile<i32>
    yield %a : tile<i32>
  }
  %s = if %c -> (tile<i32>) {
    %a = muli %r, %x : tile<i32>
    yield %a : tile<i32>
  } else {
    %a = muli %r, %y : tile<i32>
    yield %a : tile<i32>
  }
  print_tko "%d", %s : tile<i32> -> token
  %not = xori %c, %true : tile<i1>
  if %c {
    print_tko "%d", %x : tile<i32> -> token
  }
  if %not {
    print_tko "%d", %y : tile<i32> -> token
  }
  print_tko "%d", %r : tile<i32> -> token
  if %c {
    print_tko "%d", %y : tile<i32> -> token
  }
  print_tko "%d", %x : tile<i32> -> token
  if %c {
    print_tko "%d", %x : tile<i32> -> token
  }
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0:2 = if %arg0 -> (tile<i32>, tile<i32>) {
//     %4 = addi %arg2, %arg3 : tile<i32>
//     %5 = muli %4, %arg2 : tile<i32>
//     yield %4, %5 : tile<i32>, tile<i32>
//   } else {
//     %4 = subi %arg2, %arg3 : tile<i32>
//     %5 = muli %4, %arg3 : tile<i32>
//     yield %4, %5 : tile<i32>, tile<i32>
//   }
//   %1 = print_tko "%d", %0#1 : tile<i32> -> token
//   if %arg0 {
//     %4 = print_tko "%d", %arg2 : tile<i32> -> token
//   } else {
//     %4 = print_tko "%d", %arg3 : tile<i32> -> token
//   }
//   %2 = print_tko "%d", %0#0 : tile<i32> -> token
//   if %arg0 {
//     %4 = print_tko "%d", %arg3 : tile<i32> -> token
//   }
//   %3 = print_tko "%d", %arg2 : tile<i32> -> token
//   if %arg0 {
//     %4 = print_tko "%d", %arg2 : tile<i32> -> token
//   }
//   return
// }
// stderr:
// canonicalize: 4 changes
//          2  CombineIfs
//          2  dead

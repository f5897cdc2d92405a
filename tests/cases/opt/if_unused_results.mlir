// RUN: tilery opt --stats --passes canonicalize %s
// The second result is dropped with all that computed it.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %r:2 = if %c -> (tile<i32>, tile<i32>) {
    %a = addi %x, %y : tile<i32>
    %b = muli %x, %y : tile<i32>
    yield %a, %b : tile<i32>, tile<i32>
  } else {
    %a = subi %x, %y : tile<i32>
    %b = remi %x, %y signed : tile<i32>
    yield %a, %b : tile<i32>, tile<i32>
  }
  print_tko "%d", %r#0 : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = if %arg0 -> (tile<i32>) {
//     %2 = addi %arg2, %arg3 : tile<i32>
//     yield %2 : tile<i32>
//   } else {
//     %2 = subi %arg2, %arg3 : tile<i32>
//     yield %2 : tile<i32>
//   }
//   %1 = print_tko "%d", %0 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 3 changes
//          2  dead
//          1  RemoveUnusedResults

// RUN: tilery opt --stats --passes canonicalize %s
// Values from outside become selects, of tiles with a broadcast condition; what is computed inside stays.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %zeros = constant <i32: 0> : tile<4x2xi32>
  %twos = constant <i32: 2> : tile<4x2xi32>
  %r:3 = if %c -> (tile<i32>, tile<4x2xi32>, tile<i32>) {
    %a = addi %x, %y : tile<i32>
    yield %x, %zeros, %a : tile<i32>, tile<4x2xi32>, tile<i32>
  } else {
    print_tko "%d", %x : tile<i32> -> token
    yield %y, %twos, %y : tile<i32>, tile<4x2xi32>, tile<i32>
  }
  print_tko "%d", %r#0 : tile<i32> -> token
  print_tko "%d", %r#1 : tile<4x2xi32> -> token
  print_tko "%d", %r#2 : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %cst_0_i32 = constant <i32: 0> : tile<4x2xi32>
//   %cst_2_i32 = constant <i32: 2> : tile<4x2xi32>
//   %0 = select %arg0, %arg2, %arg3 : tile<i1>, tile<i32>
//   %reshape = reshape %arg0 : tile<i1> -> tile<1x1xi1>
//   %bcast = broadcast %reshape : tile<1x1xi1> -> tile<4x2xi1>
//   %1 = select %bcast, %cst_0_i32, %cst_2_i32 : tile<4x2xi1>, tile<4x2xi32>
//   %2 = if %arg0 -> (tile<i32>) {
//     %6 = addi %arg2, %arg3 : tile<i32>
//     yield %6 : tile<i32>
//   } else {
//     %6 = print_tko "%d", %arg2 : tile<i32> -> token
//     yield %arg3 : tile<i32>
//   }
//   %3 = print_tko "%d", %0 : tile<i32> -> token
//   %4 = print_tko "%d", %1 : tile<4x2xi32> -> token
//   %5 = print_tko "%d", %2 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 1 changes
//          1  ConvertToSelect

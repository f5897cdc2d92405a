// RUN: tilery opt --stats --passes canonicalize %s
// Tokens may be replaced too; a tile of i1 is not the condition, which is a scalar.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %false = constant <i1: false> : tile<i1>
  %trues = constant <i1: true> : tile<2xi1>
  %falses = constant <i1: false> : tile<2xi1>
  %t = make_token : token
  %r:5 = if %c -> (tile<i1>, tile<i1>, token, tile<i32>, tile<2xi1>) {
    print_tko "%d", %x : tile<i32> -> token
    %a = addi %x, %y : tile<i32>
    yield %true, %false, %t, %a, %trues : tile<i1>, tile<i1>, token, tile<i32>, tile<2xi1>
  } else {
    yield %false, %true, %t, %y, %falses : tile<i1>, tile<i1>, token, tile<i32>, tile<2xi1>
  }
  print_tko "%d", %r#0 : tile<i1> -> token
  print_tko "%d", %r#1 : tile<i1> -> token
  %u = print_tko "%d", %r#3 token=%r#2 : tile<i32> -> token
  print_tko "%d", %r#4 : tile<2xi1> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %true = constant <i1: true> : tile<i1>
//   %0 = make_token : token
//   %1 = xori %arg0, %true : tile<i1>
//   %reshape = reshape %arg0 : tile<i1> -> tile<1xi1>
//   %bcast = broadcast %reshape : tile<1xi1> -> tile<2xi1>
//   %2 = if %arg0 -> (tile<i32>) {
//     %7 = print_tko "%d", %arg2 : tile<i32> -> token
//     %8 = addi %arg2, %arg3 : tile<i32>
//     yield %8 : tile<i32>
//   } else {
//     yield %arg3 : tile<i32>
//   }
//   %3 = print_tko "%d", %arg0 : tile<i1> -> token
//   %4 = print_tko "%d", %1 : tile<i1> -> token
//   %5 = print_tko "%d", %2 token=%0 : tile<i32> -> token
//   %6 = print_tko "%d", %bcast : tile<2xi1> -> token
//   return
// }
// stderr:
// canonicalize: 8 changes
//          3  dead
//          1  ReplaceYieldWithValue
//          1  constants
//          1  RemoveUnusedResults
//          1  ConvertToSelect
//          1  select_identity

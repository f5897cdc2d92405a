// RUN: tilery opt --stats --passes canonicalize %s
// Both ways around the inner branch must give the same value; other results come from outside and become selects.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %r:2 = if %c -> (tile<i32>, tile<i32>) {
    %s = if %d -> (tile<i32>) {
      %a = addi %x, %y : tile<i32>
      print_tko "%d", %a : tile<i32> -> token
      yield %a : tile<i32>
    } else {
      yield %x : tile<i32>
    }
    yield %s, %y : tile<i32>, tile<i32>
  } else {
    yield %x, %x : tile<i32>, tile<i32>
  }
  print_tko "%d", %r#0 : tile<i32> -> token
  print_tko "%d", %r#1 : tile<i32> -> token
  %u = if %c -> (tile<i32>) {
    %s = if %d -> (tile<i32>) {
      %a = addi %x, %y : tile<i32>
      print_tko "%d", %a : tile<i32> -> token
      yield %a : tile<i32>
    } else {
      yield %x : tile<i32>
    }
    yield %s : tile<i32>
  } else {
    yield %y : tile<i32>
  }
  print_tko "%d", %u : tile<i32> -> token
  if %c {
    if %d {
      print_tko "%d", %x : tile<i32> -> token
      return
    }
  }
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = select %arg0, %arg3, %arg2 : tile<i1>, tile<i32>
//   %1 = andi %arg0, %arg1 : tile<i1>
//   %2 = if %1 -> (tile<i32>) {
//     %8 = addi %arg2, %arg3 : tile<i32>
//     %9 = print_tko "%d", %8 : tile<i32> -> token
//     yield %8 : tile<i32>
//   } else {
//     yield %arg2 : tile<i32>
//   }
//   %3 = print_tko "%d", %2 : tile<i32> -> token
//   %4 = print_tko "%d", %0 : tile<i32> -> token
//   %5 = if %arg0 -> (tile<i32>) {
//     %8 = if %arg1 -> (tile<i32>) {
//       %9 = addi %arg2, %arg3 : tile<i32>
//       %10 = print_tko "%d", %9 : tile<i32> -> token
//       yield %9 : tile<i32>
//     } else {
//       yield %arg2 : tile<i32>
//     }
//     yield %8 : tile<i32>
//   } else {
//     yield %arg3 : tile<i32>
//   }
//   %6 = print_tko "%d", %5 : tile<i32> -> token
//   %7 = andi %arg0, %arg1 : tile<i1>
//   if %7 {
//     %8 = print_tko "%d", %arg2 : tile<i32> -> token
//     return
//   }
//   return
// }
// stderr:
// canonicalize: 3 changes
//          2  CombineNestedIfs
//          1  ConvertToSelect

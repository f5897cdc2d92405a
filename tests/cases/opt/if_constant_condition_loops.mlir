// RUN: tilery opt --stats --passes canonicalize %s
// Branches that break and continue drop the rest of the body.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %n = for %i in (%x to %y, step %x) : tile<i32> iter_values(%a = %x) -> (tile<i32>) {
    %s = addi %a, %i : tile<i32>
    %r = if %true -> (tile<i32>) {
      continue %s : tile<i32>
    } else {
      yield %i : tile<i32>
    }
    print_tko "%d", %r : tile<i32> -> token
    continue %r : tile<i32>
  }
  %m = loop iter_values(%a = %n) : tile<i32> -> tile<i32> {
    if %true {
      break %a : tile<i32>
    }
    print_tko "%d", %a : tile<i32> -> token
    continue %a : tile<i32>
  }
  print_tko "%d", %m : tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %for = for %loopIdx in (%arg2 to %arg3, step %arg2) : tile<i32> iter_values(%iterArg0 = %arg2) -> (tile<i32>) {
//     %2 = addi %iterArg0, %loopIdx : tile<i32>
//     continue %2 : tile<i32>
//   }
//   %0 = loop iter_values(%arg4 = %for) : tile<i32> -> tile<i32> {
//     break %arg4 : tile<i32>
//   }
//   %1 = print_tko "%d", %0 : tile<i32> -> token
//   return
// }
// stderr:
// canonicalize: 3 changes
//          2  RemoveStaticCondition
//          1  dead

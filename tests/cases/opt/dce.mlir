// RUN: tilery opt --stats --passes dce %s
// A division has no effect, a loop may not end, and a store is never dead.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>, %p: tile<ptr<i32>>) {
  %a = divi %x, %y signed : tile<i32>
  %b = addi %a, %y : tile<i32>
  %r = if %c -> (tile<i32>) {
    yield %b : tile<i32>
  } else {
    yield %a : tile<i32>
  }
  %s = loop iter_values(%i = %x) : tile<i32> -> tile<i32> {
    break %i : tile<i32>
  }
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>, %arg4: tile<ptr<i32>>) {
//   %0 = loop iter_values(%arg5 = %arg2) : tile<i32> -> tile<i32> {
//     break %arg5 : tile<i32>
//   }
//   %1 = store_ptr_tko weak %arg4, %arg2 : tile<ptr<i32>>, tile<i32> -> token
//   return
// }
// stderr:
// dce: 4 changes
//          3  dead
//          1  RemoveUnusedResults

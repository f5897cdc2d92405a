// RUN: tilery opt --stats --passes licm %s
// Out of as many loops as possible; a division might not have been executed, and a branch is no loop.
entry @k(%c: tile<i1>, %d: tile<i1>, %x: tile<i32>, %y: tile<i32>) {
  for %i in (%x to %y, step %x) : tile<i32> {
    for %j in (%x to %y, step %x) : tile<i32> {
      %a = addi %x, %y : tile<i32>
      %b = addi %a, %i : tile<i32>
      %e = addi %b, %j : tile<i32>
      %f = divi %x, %y signed : tile<i32>
      print_tko "%d", %e : tile<i32> -> token
      if %c {
        %g = muli %x, %y : tile<i32>
        print_tko "%d", %g : tile<i32> -> token
      }
      print_tko "%d", %f : tile<i32> -> token
    }
  }
  return
}
// =>
// entry @k(%arg0: tile<i1>, %arg1: tile<i1>, %arg2: tile<i32>, %arg3: tile<i32>) {
//   %0 = addi %arg2, %arg3 : tile<i32>
//   for %loopIdx in (%arg2 to %arg3, step %arg2) : tile<i32> {
//     %1 = addi %0, %loopIdx : tile<i32>
//     for %loopIdx_0 in (%arg2 to %arg3, step %arg2) : tile<i32> {
//       %2 = addi %1, %loopIdx_0 : tile<i32>
//       %3 = divi %arg2, %arg3 signed : tile<i32>
//       %4 = print_tko "%d", %2 : tile<i32> -> token
//       if %arg0 {
//         %6 = muli %arg2, %arg3 : tile<i32>
//         %7 = print_tko "%d", %6 : tile<i32> -> token
//       }
//       %5 = print_tko "%d", %3 : tile<i32> -> token
//     }
//   }
//   return
// }
// stderr:
// licm: 2 changes
//          2  licm

// RUN: tilery dis %s
cuda_tile.module @m {
  entry @loops(%n: tile<i32>, %c: tile<i1>) {
    %sum = for %i in (%n to %n, step %n) : tile<i32>   // over several
        iter_values(%acc = %n) -> (tile<i32>) {        // lines
      %next = addi %acc, %i : tile<i32>
      continue %next : tile<i32>
    }
    for unsigned %i in (%n to %n, step %n) : tile<i32> {
    }
    %last = loop iter_values(%x = %sum) : tile<i32> -> tile<i32> {
      if %c {
        break %x : tile<i32>
      }
      continue %x : tile<i32>
    }
    %both:2 = if %c -> (tile<i32>, tile<i1>) {
      yield %last, %c : tile<i32>, tile<i1>
    } else {
      yield %sum, %c : tile<i32>, tile<i1>
    }
    %used = addi %both#0, %n : tile<i32>
    loop {
      return
    }
  }
}
// =>
// entry @loops(%arg0: tile<i32>, %arg1: tile<i1>) {
//   %for = for %loopIdx in (%arg0 to %arg0, step %arg0) : tile<i32> iter_values(%iterArg0 = %arg0) -> (tile<i32>) {
//     %3 = addi %iterArg0, %loopIdx : tile<i32>
//     continue %3 : tile<i32>
//   }
//   for unsigned %loopIdx in (%arg0 to %arg0, step %arg0) : tile<i32> {
//   }
//   %0 = loop iter_values(%arg2 = %for) : tile<i32> -> tile<i32> {
//     if %arg1 {
//       break %arg2 : tile<i32>
//     }
//     continue %arg2 : tile<i32>
//   }
//   %1:2 = if %arg1 -> (tile<i32>, tile<i1>) {
//     yield %0, %arg1 : tile<i32>, tile<i1>
//   } else {
//     yield %for, %arg1 : tile<i32>, tile<i1>
//   }
//   %2 = addi %1#0, %arg0 : tile<i32>
//   loop {
//     return
//   }
//   return
// }

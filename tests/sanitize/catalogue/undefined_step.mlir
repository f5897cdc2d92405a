// The step of a loop is zero.
// run: --arg i32:0 --arg zeros:i32:1
// fixed-run: --arg i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%n: tile<i32>, %q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c3 = constant <i32: 3> : tile<i32>
  for %i in (%c0 to %c3, step %n) : tile<i32> {  // fault: undefined: the step of the loop is not positive
    %old, %t1 = atomic_rmw_tko relaxed device %q, add, %c3 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  }
  return
} }

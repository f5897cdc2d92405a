// The bounds of a loop are in the wrong order, so that it never runs.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 16> : tile<i32>
  %sum = for %i in (%n to %c0, step %c1) : tile<i32> iter_values(%acc = %c0) -> (tile<i32>) {  // fault: lint
  // fixed: %sum = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%acc = %c0) -> (tile<i32>) {
    %a = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
    %s = addi %acc, %v : tile<i32>
    continue %s : tile<i32>
  }
  %u = store_ptr_tko weak %q, %sum : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A loop shifts by its counter, which reaches the width.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  
  %n = constant <i32: 33> : tile<i32>
  // fixed: %n = constant <i32: 32> : tile<i32>
  for %i in (%c0 to %n, step %c1) : tile<i32> {
    %v = shli %c1, %i : tile<i32>  // fault: lint
    %a = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %v : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
} }

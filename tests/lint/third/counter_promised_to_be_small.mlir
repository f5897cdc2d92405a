// The counter of a loop is promised to be smaller than its last value.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  
  %n = constant <i32: 16> : tile<i32>
  for %i in (%c0 to %n, step %c1) : tile<i32> {
    %k = assume bounded<0, 7>, %i : tile<i32>  // fault: lint
    // fixed: %k = assume bounded<0, 15>, %i : tile<i32>
    %a = offset %q, %k : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %k : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
} }

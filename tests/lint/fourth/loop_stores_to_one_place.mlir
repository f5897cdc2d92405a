// Each iteration stores to the same element, and no token orders them.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 4> : tile<i32>
  for %i in (%c0 to %n, step %c1) : tile<i32> {
    %a = offset %q, %c0 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    // fixed: %a = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %i : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
    continue
  }
  return
} }

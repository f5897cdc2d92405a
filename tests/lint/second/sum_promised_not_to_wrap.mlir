// The sum of two large constants wraps around, against its promise.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %a = constant <i32: 2000000000> : tile<i32>
  %b = constant <i32: 200000000> : tile<i32>
  // fixed: %b = constant <i32: 100000000> : tile<i32>
  %s = addi %a, %b overflow<no_signed_wrap> : tile<i32>  // fault: lint
  %u = store_ptr_tko weak %q, %s : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A loop has a step of zero.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %n = constant <i32: 4> : tile<i32>
  %step = constant <i32: 0> : tile<i32>
  // fixed: %step = constant <i32: 1> : tile<i32>
  for %i in (%c0 to %n, step %step) : tile<i32> {  // fault: lint
    %a = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %i : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
} }

// A mask of 32 bits is made by a shift of 32.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %by = constant <i32: 32> : tile<i32>
  // fixed: %by = constant <i32: 31> : tile<i32>
  %m = shli %one, %by : tile<i32>  // fault: lint
  %u = store_ptr_tko weak %p, %m : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A float that is known does not fit the integer that it becomes.
cuda_tile.module @m { entry @k(%q: tile<ptr<i8>>) {
  %x = constant <f32: 300.0> : tile<f32>
  // fixed: %x = constant <f32: 100.0> : tile<f32>
  %r = ftoi %x signed : tile<f32> -> tile<i8>  // fault: lint
  %u = store_ptr_tko weak %q, %r : tile<ptr<i8>>, tile<i8> -> token
  return
} }

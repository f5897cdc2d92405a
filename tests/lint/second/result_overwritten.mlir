// A result is stored, and another one to the same place right after it.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %x: tile<f32>, %y: tile<f32>) {
  %s = addf %x, %y : tile<f32>
  %t = store_ptr_tko weak %p, %s : tile<ptr<f32>>, tile<f32> -> token  // fault: lint
  %one = constant <i32: 1> : tile<i32>
  %b = offset %p, %one : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %m = mulf %x, %y : tile<f32>
  %u = store_ptr_tko weak %p, %m token = %t : tile<ptr<f32>>, tile<f32> -> token
  // fixed: %u = store_ptr_tko weak %b, %m token = %t : tile<ptr<f32>>, tile<f32> -> token
  return
} }

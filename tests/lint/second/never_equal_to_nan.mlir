// A mask compares with NaN, which equals nothing.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %nan = constant <f32: 0x7FC00000> : tile<f32>
  %z = constant <f32: 0.0> : tile<f32>
  %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %is = cmpf equal ordered %v, %nan : tile<f32> -> tile<i1>  // fault: lint
  // fixed: %is = cmpf not_equal unordered %v, %v : tile<f32> -> tile<i1>
  %r = select %is, %z, %v : tile<i1>, tile<f32>
  %u = store_ptr_tko weak %q, %r : tile<ptr<f32>>, tile<f32> -> token
  return
} }

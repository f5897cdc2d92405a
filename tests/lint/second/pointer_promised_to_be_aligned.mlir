// A pointer to the second element of an array is promised to be a multiple of 16.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %one = constant <i32: 1> : tile<i32>
  // fixed: %one = constant <i32: 4> : tile<i32>
  %base = assume div_by<16>, %p : tile<ptr<f32>>
  %a = offset %base, %one : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %b = assume div_by<16>, %a : tile<ptr<f32>>  // fault: lint
  %v, %t = load_ptr_tko weak %b : tile<ptr<f32>> -> tile<f32>, token
  %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
} }

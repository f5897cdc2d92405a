// An alloca is read before it is written.
// run: --arg zeros:f32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %p = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
  %x = constant <f32: 1.0> : tile<f32>
  %start = make_token : token
  // fixed: %start = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  %v, %t = load_ptr_tko weak %p token=%start : tile<ptr<f32>> -> tile<f32>, token  // other: uninit
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token  // fault: uninit
  return
} }

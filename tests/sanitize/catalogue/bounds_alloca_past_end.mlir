// A store goes past the end of an alloca.
// run: --arg zeros:f32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %p = alloca num_elem = 4, alignment = 4 : tile<ptr<f32>>
  // fixed: %p = alloca num_elem = 8, alignment = 4 : tile<ptr<f32>>
  %i = iota : tile<8xi32>
  %a_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_n = broadcast %a_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %a = offset %a_n, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %x = constant <f32: 1.0> : tile<8xf32>
  %t = store_ptr_tko weak %a, %x : tile<8xptr<f32>>, tile<8xf32> -> token  // fault: bounds: 0 bytes after the end of alloca
  %v, %t1 = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token
  %t2 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
} }

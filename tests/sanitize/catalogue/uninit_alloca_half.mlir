// Only a part of an alloca is written.
// run: --arg zeros:f32:8
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %p = alloca num_elem = 8, alignment = 4 : tile<ptr<f32>>
  %i = iota : tile<8xi32>
  %a_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_n = broadcast %a_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %a = offset %a_n, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %b_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b_n = broadcast %b_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %b = offset %b_n, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %n = constant <i32: 6> : tile<8xi32>
  // fixed: %n = constant <i32: 8> : tile<8xi32>
  %m = cmpi less_than %i, %n, signed : tile<8xi32> -> tile<8xi1>
  %x = constant <f32: 1.0> : tile<8xf32>
  %t = store_ptr_tko weak %a, %x, %m : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
  %v, %t1 = load_ptr_tko weak %a token=%t : tile<8xptr<f32>> -> tile<8xf32>, token  // other: uninit
  %t2 = store_ptr_tko weak %b, %v : tile<8xptr<f32>>, tile<8xf32> -> token  // fault: uninit
  return
} }

// The memory of an alloca is used after the block that it is in.
// run: --arg zeros:f32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %x = constant <f32: 1.0> : tile<f32>
  %yes = constant <i1: 1> : tile<i1>
  %p, %t = if %yes -> (tile<ptr<f32>>, token) {
    %a = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
    %t1 = store_ptr_tko weak %a, %x : tile<ptr<f32>>, tile<f32> -> token
    yield %a, %t1 : tile<ptr<f32>>, token
    // fixed: yield %q, %t1 : tile<ptr<f32>>, token
  } else {
    %t2 = make_token : token
    yield %q, %t2 : tile<ptr<f32>>, token
  }
  %v, %t3 = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token  // fault: bounds: after the end of its block
  %t4 = store_ptr_tko weak %q, %v token=%t3 : tile<ptr<f32>>, tile<f32> -> token
  return
} }

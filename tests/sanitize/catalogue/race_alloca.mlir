// A load of a tile block's own memory does not wait for the store.
// run: --arg zeros:f32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %x = constant <f32: 1.0> : tile<f32>
  %a = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
  %t = store_ptr_tko weak %a, %x : tile<ptr<f32>>, tile<f32> -> token  // other: race
  %v, %t1 = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token  // fault: race: no token orders // cause: no token leads from store_ptr_tko to load_ptr_tko: pass the token of the first to the second
  // fixed: %v, %t1 = load_ptr_tko weak %a token=%t : tile<ptr<f32>> -> tile<f32>, token
  %t2 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
} }

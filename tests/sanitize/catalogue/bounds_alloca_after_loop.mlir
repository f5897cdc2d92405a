// A loop carries a pointer to an alloca of its last iteration out.
// run: --arg zeros:i32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 3> : tile<i32>
  %start = make_token : token
  %p, %t = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%last = %q, %before = %start) -> (tile<ptr<i32>>, token) {
    %a = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>
    %t1 = store_ptr_tko weak %a, %i token=%before : tile<ptr<i32>>, tile<i32> -> token
    continue %a, %t1 : tile<ptr<i32>>, token
    // fixed: continue %last, %t1 : tile<ptr<i32>>, token
  }
  %v, %t3 = load_ptr_tko weak %p token=%t : tile<ptr<i32>> -> tile<i32>, token  // fault: bounds: after the end of its block
  %t4 = store_ptr_tko weak %q, %v token=%t3 : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A load after a loop waits for the token from before it.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  
  %n = constant <i32: 4> : tile<i32>
  %start = make_token : token
  %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %t = store_ptr_tko weak %q, %i token = %t0 : tile<ptr<i32>>, tile<i32> -> token
    continue %t : token
  }
  %v, %t1 = load_ptr_tko weak %q token = %start : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
  // fixed: %v, %t1 = load_ptr_tko weak %q token = %end : tile<ptr<i32>> -> tile<i32>, token
  %a = offset %q, %c1 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %a, %v token = %t1 : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A loop stores to the same element each time, and no token orders its iterations.
// run: --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 3> : tile<i32>
  %start = make_token : token
  %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %t = store_ptr_tko weak %p, %i token=%t0 : tile<ptr<i32>>, tile<i32> -> token  // fault: race: no token orders // cause: no token leads from store_ptr_tko to store_ptr_tko of a later iteration: carry it in the loop
    continue %t0 : token
    // fixed: continue %t : token
  }
  return
} }

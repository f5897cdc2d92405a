// The token after a branch is the one from before it.
// run: --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %x = constant <i32: 1> : tile<i32>
  %yes = constant <i1: 1> : tile<i1>
  %start = make_token : token
  %t = if %yes -> (token) {
    %t1 = store_ptr_tko weak %p, %x token=%start : tile<ptr<i32>>, tile<i32> -> token  // other: race
    yield %start : token
    // fixed: yield %t1 : token
  } else {
    yield %start : token
  }
  %v, %t2 = load_ptr_tko weak %p token=%t : tile<ptr<i32>> -> tile<i32>, token  // fault: race: no token orders // cause: no token leads from store_ptr_tko to load_ptr_tko: pass the token of the first to the second
  %t3 = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

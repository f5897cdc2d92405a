// A join leaves out the token of one of two stores.
// run: --arg zeros:i32:2 --arg zeros:i32:2
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %x = constant <i32: 1> : tile<i32>
  %p1 = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %q1 = offset %q, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %start = make_token : token
  %t1 = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  %t2 = store_ptr_tko weak %p1, %x : tile<ptr<i32>>, tile<i32> -> token  // other: race
  %t = join_tokens %t1, %start : token
  // fixed: %t = join_tokens %t1, %t2 : token
  %v, %t3 = load_ptr_tko weak %p token=%t : tile<ptr<i32>> -> tile<i32>, token
  %u, %t4 = load_ptr_tko weak %p1 token=%t : tile<ptr<i32>> -> tile<i32>, token  // fault: race: no token orders // cause: no token leads from store_ptr_tko to load_ptr_tko: pass the token of the first to the second
  %t5 = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  %t6 = store_ptr_tko weak %q1, %u : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A load does not wait for the store before it.
// run: --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %x = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token  // other: race
  %v, %t1 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token  // fault: race: no token orders // cause: no token leads from store_ptr_tko to load_ptr_tko: pass the token of the first to the second
  // fixed: %v, %t1 = load_ptr_tko weak %p token=%t : tile<ptr<i32>> -> tile<i32>, token
  %t2 = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

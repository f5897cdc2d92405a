// A strong load waits for a strong store to the same element, which decides what it returns, and for nothing useful.
// run: --arg zeros:i32:1 --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %r: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko relaxed device %p, %one : tile<ptr<i32>>, tile<i32> -> token
  %x, %t1 = load_ptr_tko relaxed device %p token=%t : tile<ptr<i32>> -> tile<i32>, token
  %t2 = store_ptr_tko relaxed device %p, %x token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  %a, %t3 = atomic_rmw_tko relaxed device %p, add, %one token=%t2 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %b, %t4 = atomic_rmw_tko relaxed device %p, add, %one token=%t3 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %y, %t5 = load_ptr_tko relaxed device %p token=%t4 : tile<ptr<i32>> -> tile<i32>, token
  %t6 = store_ptr_tko weak %q, %y : tile<ptr<i32>>, tile<i32> -> token
  %t7 = store_ptr_tko weak %r, %x token=%t6 : tile<ptr<i32>>, tile<i32> -> token  // fault: order: orders nothing
  // fixed: %t7 = store_ptr_tko weak %r, %x : tile<ptr<i32>>, tile<i32> -> token
  return
} }

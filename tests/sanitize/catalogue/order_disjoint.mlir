// A store waits for another one to different memory, and nothing waits for both.
// run: --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %x = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  %t1 = store_ptr_tko weak %q, %x token=%t : tile<ptr<i32>>, tile<i32> -> token  // fault: order: orders nothing
  // fixed: %t1 = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token
  return
} }

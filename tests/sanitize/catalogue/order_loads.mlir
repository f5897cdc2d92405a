// A load waits for a token that follows nothing. The store waits for both loads, which it must.
// run: --arg ones:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %start = make_token : token
  %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %y, %t1 = load_ptr_tko weak %p token=%start : tile<ptr<i32>> -> tile<i32>, token  // fault: order: orders nothing
  // fixed: %y, %t1 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %both = join_tokens %t, %t1 : token
  %s = addi %x, %y : tile<i32>
  %t2 = store_ptr_tko weak %p, %s token=%both : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A kernel has two outputs and stores both results to the first one.
// run: --arg low=output:i32:1 --arg high=output:i32:1
cuda_tile.module @m { entry @k(%low: tile<ptr<i32>>, %high: tile<ptr<i32>>) {  // fault: unwritten: any element of argument 'high'
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %t = store_ptr_tko weak %low, %c1 : tile<ptr<i32>>, tile<i32> -> token
  %t1 = store_ptr_tko weak %low, %c2 token=%t : tile<ptr<i32>>, tile<i32> -> token
  // fixed: %t1 = store_ptr_tko weak %high, %c2 token=%t : tile<ptr<i32>>, tile<i32> -> token
  return
} }

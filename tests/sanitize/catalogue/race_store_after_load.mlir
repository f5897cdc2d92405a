// A store does not wait for the load before it, though its value comes from the load.
// run: --arg zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token  // other: race
  %next = addi %v, %one : tile<i32>
  %t1 = store_ptr_tko weak %p, %next : tile<ptr<i32>>, tile<i32> -> token  // fault: race: no token orders // cause: no token leads from load_ptr_tko to store_ptr_tko: pass the token of the first to the second
  // fixed: %t1 = store_ptr_tko weak %p, %next token=%t : tile<ptr<i32>>, tile<i32> -> token
  return
} }

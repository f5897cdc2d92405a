// The condition is false, and the `return` in the loop ends the kernel, so %out holds 1 afterwards. Launch with n = 0.
entry @return_in_a_loop_after_a_return(%out: tile<ptr<i32>>, %n: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko weak %out, %one : tile<ptr<i32>>, tile<i32> -> token
  %zeros = iota : tile<1xi1>
  %false = reshape %zeros : tile<1xi1> -> tile<i1>
  if %false {
    return
  }
  loop {
    return
  }
  %two = constant <i32: 2> : tile<i32>
  %u = store_ptr_tko weak %out, %two token=%t : tile<ptr<i32>>, tile<i32> -> token
  return
}

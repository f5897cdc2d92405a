// The inner `return` ends the kernel, so %out holds 1 afterwards. Launch with n = 0.
entry @return_in_two_loops(%out: tile<ptr<i32>>, %n: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko weak %out, %one : tile<ptr<i32>>, tile<i32> -> token
  loop {
    loop {
      return
    }
    break
  }
  %two = constant <i32: 2> : tile<i32>
  %u = store_ptr_tko weak %out, %two token = %t : tile<ptr<i32>>, tile<i32> -> token
  return
}

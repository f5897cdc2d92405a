// With n = 0 the loop is not entered: %a is 0, %b is 1 and %out holds 1 afterwards.
entry @continue_with_one_value_twice(%out: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %a, %b = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%x = %zero, %y = %one) -> (tile<i32>, tile<i32>) {
    %v = addi %x, %i : tile<i32>
    continue %v, %v : tile<i32>, tile<i32>
  }
  %d = subi %b, %a : tile<i32>
  %t = store_ptr_tko weak %out, %d : tile<ptr<i32>>, tile<i32> -> token
  return
}

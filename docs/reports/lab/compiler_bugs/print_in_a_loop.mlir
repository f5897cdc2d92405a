// With n = 0 the loop runs once, prints 512 numbers and ends; %out holds 1 afterwards.
entry @print_in_a_loop(%out: tile<ptr<i32>>, %n: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %i = iota : tile<512xi32>
  %v = itof %i signed : tile<512xi32> -> tile<512xbf16>
  %k = loop iter_values(%j = %zero) : tile<i32> -> tile<i32> {
    %t = print_tko "%f", %v : tile<512xbf16> -> token
    %m = addi %j, %one : tile<i32>
    %c = cmpi greater_than %m, %n, signed : tile<i32> -> tile<i1>
    if %c {
      break %m : tile<i32>
    }
    continue %m : tile<i32>
  }
  %u = store_ptr_tko weak %out, %k : tile<ptr<i32>>, tile<i32> -> token
  return
}

// A loop waits for a value that was loaded before it, and never changes.
cuda_tile.module @m { entry @k(%flag: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
  loop {  // fault: lint
    %is = cmpi not_equal %f, %c0, signed : tile<i32> -> tile<i1>
    // fixed: %g, %t1 = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token %is = cmpi not_equal %g, %c0, signed : tile<i32> -> tile<i1>
    if %is {
      break
    }
    continue
  }
  return
} }

// A tile block waits for a flag that it loads with a weak load, which may be loaded once.
cuda_tile.module @m { entry @k(%flag: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  loop {
    %f, %t = load_ptr_tko weak %flag : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
    // fixed: %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
    %is = cmpi not_equal %f, %c0, signed : tile<i32> -> tile<i1>
    if %is {
      break
    }
    continue
  }
  return
} }

// Scratch memory is written in one branch only, and read after it.
cuda_tile.module @m { entry @k(%n: tile<i32>, %q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %g = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>
  %start = make_token : token
  %is = cmpi greater_than %n, %c0, signed : tile<i32> -> tile<i1>
  %end = if %is -> (token) {
    %t = store_ptr_tko weak %g, %n token = %start : tile<ptr<i32>>, tile<i32> -> token
    yield %t : token
  } else {
    yield %start : token  // fault: lint
    // fixed: %t = store_ptr_tko weak %g, %c0 token = %start : tile<ptr<i32>>, tile<i32> -> token yield %t : token
  }
  %v, %t1 = load_ptr_tko weak %g token = %end : tile<ptr<i32>> -> tile<i32>, token
  %u = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

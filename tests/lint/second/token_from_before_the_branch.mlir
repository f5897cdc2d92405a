// A branch stores, and the load after it waits for the token from before the branch.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %n: tile<i32>, %q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %start = make_token : token
  %is = cmpi greater_than %n, %c0, signed : tile<i32> -> tile<i1>
  %end = if %is -> (token) {
    %t = store_ptr_tko weak %p, %n token = %start : tile<ptr<i32>>, tile<i32> -> token
    yield %t : token
  } else {
    yield %start : token
  }
  %v, %t1 = load_ptr_tko weak %p token = %start : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
  // fixed: %v, %t1 = load_ptr_tko weak %p token = %end : tile<ptr<i32>> -> tile<i32>, token
  %u = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

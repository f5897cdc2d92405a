// Each iteration reads what the one before it has written, and no token is carried.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 8> : tile<i32>
  %start = make_token : token
  %end = for %i in (%c1 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %before = subi %i, %c1 : tile<i32>
    %a = offset %p, %before : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %b = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %x, %t1 = load_ptr_tko weak %a token = %t0 : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
    %y, %t2 = load_ptr_tko weak %b token = %t0 : tile<ptr<i32>> -> tile<i32>, token
    %s = addi %x, %y : tile<i32>
    %t12 = join_tokens %t1, %t2 : token
    %t3 = store_ptr_tko weak %b, %s token = %t12 : tile<ptr<i32>>, tile<i32> -> token
    continue %t0 : token
    // fixed: continue %t3 : token
  }
  return
} }

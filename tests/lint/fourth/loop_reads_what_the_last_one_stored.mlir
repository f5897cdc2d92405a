// Each iteration reads the element that the one before has stored, without a token.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 8> : tile<i32>
  %start = make_token : token
  %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %i1 = addi %i, %c1 : tile<i32>
    %a = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %d = offset %q, %i1 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t1 = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
    // fixed: %v, %t1 = load_ptr_tko weak %a token = %t0 : tile<ptr<i32>> -> tile<i32>, token
    %w = addi %v, %c1 : tile<i32>
    %t2 = store_ptr_tko weak %d, %w token = %t1 : tile<ptr<i32>>, tile<i32> -> token
    continue %t2 : token
  }
  return
} }

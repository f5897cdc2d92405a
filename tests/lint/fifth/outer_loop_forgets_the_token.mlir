// The inner loop hands its token on; the outer one starts each time from the token before both.
// run: --arg zeros:i32:4
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 4> : tile<i32>
  %start = make_token : token
  %done = for %j in (%c0 to %n, step %c1) : tile<i32> iter_values(%tj = %start) -> (token) {
    %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    // fixed: %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %tj) -> (token) {
      %a = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %v, %t1 = load_ptr_tko weak %a token=%t0 : tile<ptr<i32>> -> tile<i32>, token  // fault: race: no token // other: race
      %w = addi %v, %j : tile<i32>
      %t2 = store_ptr_tko weak %a, %w token=%t1 : tile<ptr<i32>>, tile<i32> -> token  // fault: race: no token
      continue %t2 : token
    }
    continue %end : token
  }
  return
} }

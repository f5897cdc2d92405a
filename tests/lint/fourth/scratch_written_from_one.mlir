// Scratch memory is written from its second element on, and read from its first.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 8> : tile<i32>
  %g = alloca num_elem = 8, alignment = 4 : tile<ptr<i32>>
  %start = make_token : token
  %end = for %i in (%c1 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
  // fixed: %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %a = offset %g, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %i token = %t0 : tile<ptr<i32>>, tile<i32> -> token
    continue %t : token
  }
  %v, %t1 = load_ptr_tko weak %g token = %end : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
  %u = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

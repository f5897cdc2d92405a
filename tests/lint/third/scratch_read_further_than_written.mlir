// Scratch memory is read further than a loop wrote it.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  
  %n = constant <i32: 4> : tile<i32>
  %m = constant <i32: 8> : tile<i32>
  // fixed: %m = constant <i32: 4> : tile<i32>
  %g = alloca num_elem = 8, alignment = 4 : tile<ptr<i32>>
  %start = make_token : token
  %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %a = offset %g, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %i token = %t0 : tile<ptr<i32>>, tile<i32> -> token
    continue %t : token
  }
  %s = for %i in (%c0 to %m, step %c1) : tile<i32> iter_values(%s0 = %c0) -> (tile<i32>) {
    %a = offset %g, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %a token = %end : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
    %s1 = addi %s0, %v : tile<i32>
    continue %s1 : tile<i32>
  }
  %u = store_ptr_tko weak %q, %s : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A loop writes one half of scratch memory and reads the other one, which nothing has written in the first iteration.
// run: --arg zeros:i32:4
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %n = constant <i32: 4> : tile<i32>
  %g = alloca num_elem = 2, alignment = 4 : tile<ptr<i32>>
  %start = make_token : token
  %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %write = remi %i, %c2 signed : tile<i32>
    %read = subi %c1, %write : tile<i32>
    // fixed: %read = remi %i, %c2 signed : tile<i32>
    %w = offset %g, %write : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %r = offset %g, %read : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %d = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t1 = store_ptr_tko weak %w, %i token=%t0 : tile<ptr<i32>>, tile<i32> -> token
    %v, %t2 = load_ptr_tko weak %r token=%t1 : tile<ptr<i32>> -> tile<i32>, token
    %t3 = store_ptr_tko weak %d, %v : tile<ptr<i32>>, tile<i32> -> token  // fault: uninit: is stored to memory
    continue %t2 : token
  }
  return
} }

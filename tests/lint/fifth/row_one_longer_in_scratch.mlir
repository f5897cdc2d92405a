// Rows of eight elements are written nine elements apart into scratch memory for sixty-four.
// run: --arg zeros:i32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 8> : tile<i32>
  %row = constant <i32: 9> : tile<i32>
  // fixed: %row = constant <i32: 8> : tile<i32>
  %g = alloca num_elem = 64, alignment = 4 : tile<ptr<i32>>
  %lanes = iota : tile<8xi32>
  %start = make_token : token
  %end = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %first = muli %i, %row : tile<i32>
    %fn_1 = reshape %first : tile<i32> -> tile<1xi32>
    %fn = broadcast %fn_1 : tile<1xi32> -> tile<8xi32>
    %at = addi %fn, %lanes : tile<8xi32>
    %a_1 = reshape %g : tile<ptr<i32>> -> tile<1xptr<i32>>
    %a_n = broadcast %a_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
    %a = offset %a_n, %at : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
    %t = store_ptr_tko weak %a, %lanes token=%t0 : tile<8xptr<i32>>, tile<8xi32> -> token  // fault: bounds
    continue %t : token
  }
  %v, %t1 = load_ptr_tko weak %g token=%end : tile<ptr<i32>> -> tile<i32>, token
  %u = store_ptr_tko weak %q, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// The memory of an alloca in a loop is new in each iteration.
// run: --arg zeros:i32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 3> : tile<i32>
  %start = make_token : token
  %sum = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%acc = %c0) -> (tile<i32>) {
    %a = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>
    %first = cmpi equal %i, %c0, signed : tile<i32> -> tile<i1>
    // fixed: %first = cmpi greater_than_or_equal %i, %c0, signed : tile<i32> -> tile<i1>
    %t = store_ptr_tko weak %a, %i, %first : tile<ptr<i32>>, tile<i32>, tile<i1> -> token
    %v, %t1 = load_ptr_tko weak %a token=%t : tile<ptr<i32>> -> tile<i32>, token  // other: uninit
    %s = addi %acc, %v : tile<i32>
    continue %s : tile<i32>
  }
  %t4 = store_ptr_tko weak %q, %sum : tile<ptr<i32>>, tile<i32> -> token  // fault: uninit
  return
} }

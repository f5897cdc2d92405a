// The value of an element before the start of a table is thrown away, but loaded.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %g = alloca num_elem = 8, alignment = 4 : tile<ptr<i32>>
  %i = iota : tile<8xi32>
  %a1 = reshape %g : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %an, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %i : tile<8xptr<i32>>, tile<8xi32> -> token
  %one = constant <i32: 1> : tile<8xi32>
  %zero = constant <i32: 0> : tile<8xi32>
  %before = subi %i, %one : tile<8xi32>
  // fixed: %before = maxi %i, %one signed : tile<8xi32>
  %b = offset %an, %before : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %v, %t1 = load_ptr_tko weak %b token = %t : tile<8xptr<i32>> -> tile<8xi32>, token  // fault: lint
  %first = cmpi equal %i, %zero, signed : tile<8xi32> -> tile<8xi1>
  %r = select %first, %zero, %v : tile<8xi1>, tile<8xi32>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %c = offset %qn, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t2 = store_ptr_tko weak %c, %r : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

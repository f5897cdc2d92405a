// The even lanes of scratch memory are written, and all are read.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %one = constant <i32: 1> : tile<8xi32>
  %zero = constant <i32: 0> : tile<8xi32>
  %low = andi %i, %one : tile<8xi32>
  %m = cmpi equal %low, %zero, signed : tile<8xi32> -> tile<8xi1>
  %all = cmpi less_than_or_equal %low, %one, signed : tile<8xi32> -> tile<8xi1>
  %g = alloca num_elem = 8, alignment = 4 : tile<ptr<i32>>
  %a1 = reshape %g : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %an, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %d1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %dn = broadcast %d1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %d = offset %dn, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t = store_ptr_tko weak %a, %i, %m : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> token
  // fixed: %t = store_ptr_tko weak %a, %i, %all : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> token
  %v, %t1 = load_ptr_tko weak %a token = %t : tile<8xptr<i32>> -> tile<8xi32>, token
  %u = store_ptr_tko weak %d, %v : tile<8xptr<i32>>, tile<8xi32> -> token  // fault: lint
  return
} }

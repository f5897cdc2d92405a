// A branch depends on a lane that the mask of a load leaves out.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %i = iota : tile<8xi32>
  %n = constant <i32: 5> : tile<8xi32>
  %zero = constant <i32: 0> : tile<8xi32>
  %z = constant <i32: 0> : tile<i32>
  %seven = constant <i32: 7> : tile<i32>
  %m = cmpi less_than %i, %n, signed : tile<8xi32> -> tile<8xi1>
  %a1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %an = broadcast %a1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %an, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %v, %t = load_ptr_tko weak %a, %m : tile<8xptr<i32>>, tile<8xi1> -> tile<8xi32>, token
  // fixed: %v, %t = load_ptr_tko weak %a, %m, %zero : tile<8xptr<i32>>, tile<8xi1>, tile<8xi32> -> tile<8xi32>, token
  %e = extract %v[%seven] : tile<8xi32> -> tile<1xi32>
  %s = reshape %e : tile<1xi32> -> tile<i32>
  %c = cmpi greater_than %s, %z, signed : tile<i32> -> tile<i1>
  if %c {  // fault: lint
    %u = store_ptr_tko weak %q, %z : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }

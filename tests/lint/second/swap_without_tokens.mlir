// Two elements are swapped, and the stores do not wait for the loads.
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %b = offset %p, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %y, %t1 = load_ptr_tko weak %b : tile<ptr<i32>> -> tile<i32>, token
  %u = store_ptr_tko weak %p, %y : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  // fixed: %u = store_ptr_tko weak %p, %y token = %t : tile<ptr<i32>>, tile<i32> -> token
  %u1 = store_ptr_tko weak %b, %x token = %t1 : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A counter of all tile blocks is increased by a load and a store.
cuda_tile.module @m { entry @k(%counter: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %x, %t = load_ptr_tko weak %counter : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
  // fixed: %x, %t = atomic_rmw_tko relaxed device %counter, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %y = addi %x, %one : tile<i32>
  %u = store_ptr_tko weak %counter, %y token = %t : tile<ptr<i32>>, tile<i32> -> token
  // fixed: print_tko "%d\0A", %y : tile<i32> -> token
  return
} }

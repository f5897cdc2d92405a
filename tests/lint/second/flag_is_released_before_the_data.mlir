// The data is published before it is stored: the release waits for nothing.
cuda_tile.module @m { entry @k(%data: tile<ptr<i32>>, %flag: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko weak %data, %one : tile<ptr<i32>>, tile<i32> -> token
  %u = store_ptr_tko release device %flag, %one : tile<ptr<i32>>, tile<i32> -> token  // fault: lint
  // fixed: %u = store_ptr_tko release device %flag, %one token = %t : tile<ptr<i32>>, tile<i32> -> token
  return
} }

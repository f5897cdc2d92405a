// The data does not wait for the flag that says it is there.
cuda_tile.module @m { entry @k(%data: tile<ptr<i32>>, %flag: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
  %x, %t1 = load_ptr_tko weak %data : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
  // fixed: %x, %t1 = load_ptr_tko weak %data token = %t : tile<ptr<i32>> -> tile<i32>, token
  %r = muli %f, %x : tile<i32>
  %u = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

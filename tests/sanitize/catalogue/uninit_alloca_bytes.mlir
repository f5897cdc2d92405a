// Two of the four bytes of an integer are written.
// run: --arg zeros:i32:1
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %p = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>
  %h = ptr_to_ptr %p : tile<ptr<i32>> -> tile<ptr<i16>>
  %x = constant <i16: 5> : tile<i16>
  %t = store_ptr_tko weak %h, %x : tile<ptr<i16>>, tile<i16> -> token
  %v, %t1 = load_ptr_tko weak %p token=%t : tile<ptr<i32>> -> tile<i32>, token  // other: uninit
  %low = constant <i32: 65535> : tile<i32>
  %k = ori %v, %low : tile<i32>
  // fixed: %k = andi %v, %low : tile<i32>
  %t2 = store_ptr_tko weak %q, %k : tile<ptr<i32>>, tile<i32> -> token  // fault: uninit
  return
} }

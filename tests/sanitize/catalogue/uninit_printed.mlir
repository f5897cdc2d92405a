// An undefined value is printed.
// run: --arg a=uninit:i32:1
// fixed-run: --arg a=ones:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token  // other: uninit
  %t1 = print_tko "%d", %v token=%t : tile<i32> -> token  // fault: uninit: is printed
  return
} }

// An assertion tests memory that was never written.
// run: --arg a=uninit:i32:1
// fixed-run: --arg a=ones:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token  // other: uninit
  %c0 = constant <i32: 0> : tile<i32>
  %m = cmpi not_equal %v, %c0, signed : tile<i32> -> tile<i1>
  assert %m, "not zero" : tile<i1>  // fault: uninit: an assertion
  return
} }

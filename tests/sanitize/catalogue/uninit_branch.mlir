// A branch depends on memory that was never written.
// run: --arg a=uninit:i32:1 --arg b=zeros:i32:1
// fixed-run: --arg a=ones:i32:1 --arg b=zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token  // other: uninit
  %m = cmpi equal %v, %c0, signed : tile<i32> -> tile<i1>
  if %m {  // fault: uninit: decides what is executed
    %t1 = store_ptr_tko weak %q, %c0 : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }

// The mask of a store is memory that was never written.
// run: --arg a=uninit:i1:1 --arg b=zeros:i32:4
// fixed-run: --arg a=ones:i1:1 --arg b=zeros:i32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<i1>>, %q: tile<ptr<i32>>) {
  %m, %t = load_ptr_tko weak %p : tile<ptr<i1>> -> tile<i1>, token  // other: uninit
  %x = constant <i32: 1> : tile<i32>
  %t1 = store_ptr_tko weak %q, %x, %m : tile<ptr<i32>>, tile<i32>, tile<i1> -> token  // fault: uninit: the mask of an access
  return
} }

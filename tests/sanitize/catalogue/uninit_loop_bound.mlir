// The number of iterations is memory that was never written.
// run: --arg a=uninit:i32:1 --arg b=zeros:i32:1
// fixed-run: --arg a=ones:i32:1 --arg b=zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token  // other: uninit
  for %i in (%c0 to %n, step %c1) : tile<i32> {  // fault: uninit: decides what is executed
    %old, %t1 = atomic_rmw_tko relaxed device %q, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  }
  return
} }

// A counter was never set to zero.
// run: --grid 4 --arg a=uninit:i32:1
// fixed-run: --grid 4 --arg a=zeros:i32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %v, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token  // fault: uninit: changes undefined memory // cause: which reads argument 'a' where it was not written
  return
} }

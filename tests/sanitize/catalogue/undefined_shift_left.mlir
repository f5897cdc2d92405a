// A shift by the width of the type.
// run: --arg i32:1 --arg i32:32 --arg zeros:i32:1
// fixed-run: --arg i32:1 --arg i32:31 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%x: tile<i32>, %y: tile<i32>, %q: tile<ptr<i32>>) {
  %r = shli %x, %y : tile<i32>  // fault: undefined: the shift amount
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

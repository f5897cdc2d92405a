// A shift loses bits.
// run: --arg i32:3 --arg i32:31 --arg zeros:i32:1
// fixed-run: --arg i32:3 --arg i32:30 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%x: tile<i32>, %y: tile<i32>, %q: tile<ptr<i32>>) {
  %r = shli %x, %y overflow<no_unsigned_wrap> : tile<i32>  // fault: promise: the result wraps
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A product may wrap in neither way, but does.
// run: --arg i16:300 --arg i16:200 --arg zeros:i16:1
// fixed-run: --arg i16:100 --arg i16:200 --arg zeros:i16:1
cuda_tile.module @m { entry @k(%x: tile<i16>, %y: tile<i16>, %q: tile<ptr<i16>>) {
  %r = muli %x, %y overflow<no_wrap> : tile<i16>  // fault: promise: the result wraps
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i16>>, tile<i16> -> token
  return
} }

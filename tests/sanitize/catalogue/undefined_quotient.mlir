// The smallest integer divided by -1.
// run: --arg i16:-32768 --arg i16:-1 --arg zeros:i16:1
// fixed-run: --arg i16:-32767 --arg i16:-1 --arg zeros:i16:1
cuda_tile.module @m { entry @k(%x: tile<i16>, %y: tile<i16>, %q: tile<ptr<i16>>) {
  %r = divi %x, %y signed : tile<i16>  // fault: undefined: too large
  %t1 = store_ptr_tko weak %q, %r : tile<ptr<i16>>, tile<i16> -> token
  return
} }

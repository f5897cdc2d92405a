// An integer is outside its promised range.
// run: --arg i32:-1 --arg zeros:i32:1
// fixed-run: --arg i32:100 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%n: tile<i32>, %q: tile<ptr<i32>>) {
  %m = assume bounded<0, 100>, %n : tile<i32>  // fault: promise: not within [0, 100]
  %t1 = store_ptr_tko weak %q, %m : tile<ptr<i32>>, tile<i32> -> token
  return
} }

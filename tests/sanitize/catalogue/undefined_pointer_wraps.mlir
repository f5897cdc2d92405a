// Pointer arithmetic wraps around.
// run: --arg i64:4611686018427387904 --arg zeros:i32:8
// fixed-run: --arg i64:4 --arg zeros:i32:8
cuda_tile.module @m { entry @k(%n: tile<i64>, %q: tile<ptr<i32>>) {
  %a = offset %q, %n : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>  // fault: undefined: pointer arithmetic wraps around
  %x = constant <i32: 1> : tile<i32>
  %t1 = store_ptr_tko weak %a, %x : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A NaN that never reaches the output is found too.
// run: --arg f32:-1 --arg zeros:f32:1
// fixed-run: --arg f32:4 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%x: tile<f32>, %q: tile<ptr<f32>>) {
  %r = rsqrt %x : tile<f32>  // fault: nan: finite numbers make NaN
  %s = addf %r, %r : tile<f32>
  %zero = constant <f32: 0.0> : tile<f32>
  %p = cmpf greater_than ordered %x, %zero : tile<f32> -> tile<i1>
  %v = select %p, %s, %zero : tile<i1>, tile<f32>
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
} }

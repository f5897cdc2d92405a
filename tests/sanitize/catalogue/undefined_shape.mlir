// The size of a tensor does not fit the type that it is asked in.
// run: --arg i64:300 --arg zeros:i8:1
// fixed-run: --arg i64:100 --arg zeros:i8:1
cuda_tile.module @m { entry @k(%n: tile<i64>, %q: tile<ptr<i8>>) {
  %d = make_tensor_view %q, shape = [%n], strides = [1] : tile<i64> -> tensor_view<?xi8, strides=[1]>
  %m = get_tensor_shape %d : tensor_view<?xi8, strides=[1]> -> tile<i8>  // fault: undefined: does not fit
  %t1 = store_ptr_tko weak %q, %m : tile<ptr<i8>>, tile<i8> -> token
  return
} }

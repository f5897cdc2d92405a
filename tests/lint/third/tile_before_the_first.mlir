// A loop loads the tile before the counter's, from zero on.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  
  %n = constant <i32: 4> : tile<i32>
  %s = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(16), padding_value = zero, tensor_view<64xf32, strides=[1]>>
  %d = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %dv = make_partition_view %d : partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>
  for %i in (%c0 to %n, step %c1) : tile<i32> {
  // fixed: for %i in (%c1 to %n, step %c1) : tile<i32> {
    %k = subi %i, %c1 : tile<i32>
    %v, %t = load_view_tko weak %sv[%k] : partition_view<tile=(16), padding_value = zero, tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token  // fault: lint
    %u = store_view_tko weak %v, %dv[%i] : tile<16xf32>, partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
    continue
  }
  return
} }

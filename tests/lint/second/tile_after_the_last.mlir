// The fifth tile of a tensor that has four is loaded.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %four = constant <i32: 4> : tile<i32>
  // fixed: %four = constant <i32: 3> : tile<i32>
  %z = constant <i32: 0> : tile<i32>
  %s = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(16), padding_value = zero, tensor_view<64xf32, strides=[1]>>
  %v, %t = load_view_tko weak %sv[%four] : partition_view<tile=(16), padding_value = zero, tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token  // fault: lint
  %d = make_tensor_view %q, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %dv = make_partition_view %d : partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>
  %u = store_view_tko weak %v, %dv[%z] : tile<16xf32>, partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token
  return
} }

// The second tile of twenty elements is promised to be inside.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %s = make_tensor_view %p, shape = [20], strides = [1] : tensor_view<20xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(16), padding_value = zero, tensor_view<20xf32, strides=[1]>>
  %v, %t = load_view_tko weak %sv[%one] inbounds = [true] : partition_view<tile=(16), padding_value = zero, tensor_view<20xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token  // fault: lint
  // fixed: %v, %t = load_view_tko weak %sv[%z] inbounds = [true] : partition_view<tile=(16), padding_value = zero, tensor_view<20xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  %d = make_tensor_view %q, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %dv = make_partition_view %d : partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>
  %u = store_view_tko weak %v, %dv[%z] : tile<16xf32>, partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token
  return
} }

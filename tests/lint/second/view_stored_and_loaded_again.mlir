// A tile is stored and loaded again by another view, without a token.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %x = constant <f32: 1.0> : tile<8xf32>
  %s = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>
  %t = store_view_tko weak %x, %sv[%z] : tile<8xf32>, partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>, tile<i32> -> token
  %s2 = make_tensor_view %p, shape = [4], strides = [2] : tensor_view<4xf32, strides=[2]>
  %sv2 = make_partition_view %s2 : partition_view<tile=(4), tensor_view<4xf32, strides=[2]>>
  %v, %t1 = load_view_tko weak %sv2[%z] : partition_view<tile=(4), tensor_view<4xf32, strides=[2]>>, tile<i32> -> tile<4xf32>, token  // fault: lint
  // fixed: %v, %t1 = load_view_tko weak %sv2[%z] token = %t : partition_view<tile=(4), tensor_view<4xf32, strides=[2]>>, tile<i32> -> tile<4xf32>, token
  %d = make_tensor_view %q, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>
  %dv = make_partition_view %d : partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>
  %u = store_view_tko weak %v, %dv[%z] : tile<4xf32>, partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>, tile<i32> -> token
  return
} }

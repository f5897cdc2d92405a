// The rows of a view that is stored overlap.
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %x = constant <f32: 1.0> : tile<4x8xf32>
  %d = make_tensor_view %q, shape = [4, 8], strides = [6, 1] : tensor_view<4x8xf32, strides=[6,1]>
  // fixed: %d = make_tensor_view %q, shape = [4, 8], strides = [10, 1] : tensor_view<4x8xf32, strides=[10,1]>
  %dv = make_partition_view %d : partition_view<tile=(4x8), tensor_view<4x8xf32, strides=[6,1]>>
  // fixed: %dv = make_partition_view %d : partition_view<tile=(4x8), tensor_view<4x8xf32, strides=[10,1]>>
  %u = store_view_tko weak %x, %dv[%z, %z] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<4x8xf32, strides=[6,1]>>, tile<i32> -> token  // fault: lint
  // fixed: %u = store_view_tko weak %x, %dv[%z, %z] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<4x8xf32, strides=[10,1]>>, tile<i32> -> token
  return
} }

// The tile before the first one is stored.
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %k = constant <i32: -1> : tile<i32>
  // fixed: %k = constant <i32: 1> : tile<i32>
  %x = constant <f32: 1.0> : tile<16xf32>
  %d = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %dv = make_partition_view %d : partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>
  %u = store_view_tko weak %x, %dv[%k] : tile<16xf32>, partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token  // fault: lint
  return
} }

// The last tile of ten elements is padded with zeros, and its maximum is taken.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %s = make_tensor_view %p, shape = [10], strides = [1] : tensor_view<10xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(16), padding_value = zero, tensor_view<10xf32, strides=[1]>>
  // fixed: %sv = make_partition_view %s : partition_view<tile=(16), padding_value = neg_inf, tensor_view<10xf32, strides=[1]>>
  %v, %t = load_view_tko weak %sv[%z] : partition_view<tile=(16), padding_value = zero, tensor_view<10xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token  // fault: lint
  // fixed: %v, %t = load_view_tko weak %sv[%z] : partition_view<tile=(16), padding_value = neg_inf, tensor_view<10xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  %r = reduce %v dim=0 identities=[0xFF800000 : f32] : tile<16xf32> -> tile<f32>
  (%x: tile<f32>, %y: tile<f32>) {
    %m = maxf %x, %y : tile<f32>
    yield %m : tile<f32>
  }
  %u = store_ptr_tko weak %q, %r : tile<ptr<f32>>, tile<f32> -> token
  return
} }

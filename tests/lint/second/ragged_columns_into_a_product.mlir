// The columns of a matrix end inside the tile, nothing says what follows, and a matrix product uses it.
cuda_tile.module @m { entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %s = make_tensor_view %p, shape = [16, 12], strides = [12, 1] : tensor_view<16x12xf16, strides=[12,1]>
  %sv = make_partition_view %s : partition_view<tile=(16x16), tensor_view<16x12xf16, strides=[12,1]>>
  // fixed: %sv = make_partition_view %s : partition_view<tile=(16x16), padding_value = zero, tensor_view<16x12xf16, strides=[12,1]>>
  %v, %t = load_view_tko weak %sv[%z, %z] : partition_view<tile=(16x16), tensor_view<16x12xf16, strides=[12,1]>>, tile<i32> -> tile<16x16xf16>, token  // fault: lint
  // fixed: %v, %t = load_view_tko weak %sv[%z, %z] : partition_view<tile=(16x16), padding_value = zero, tensor_view<16x12xf16, strides=[12,1]>>, tile<i32> -> tile<16x16xf16>, token
  %acc = constant <f32: 0.0> : tile<16x16xf32>
  %vt = permute %v [1, 0] : tile<16x16xf16> -> tile<16x16xf16>
  %r = mmaf %v, %vt, %acc : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>
  %d = make_tensor_view %q, shape = [16, 16], strides = [16, 1] : tensor_view<16x16xf32, strides=[16,1]>
  %dv = make_partition_view %d : partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>
  %u = store_view_tko weak %r, %dv[%z, %z] : tile<16x16xf32>, partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>, tile<i32> -> token
  return
} }

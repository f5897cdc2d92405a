// The last tile along K of a matrix product has no padding.
// run: --arg ones:f32:8x6 --arg ones:f32:6x8 --arg zeros:f32:8x8
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %p2: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %a = make_tensor_view %p, shape = [8, 6], strides = [6, 1] : tensor_view<8x6xf32, strides=[6,1]>
  %b = make_tensor_view %p2, shape = [6, 8], strides = [8, 1] : tensor_view<6x8xf32, strides=[8,1]>
  %c = make_tensor_view %q, shape = [8, 8], strides = [8, 1] : tensor_view<8x8xf32, strides=[8,1]>
  %av = make_partition_view %a : partition_view<tile=(8x8), padding_value = zero, tensor_view<8x6xf32, strides=[6,1]>>
  %bv = make_partition_view %b : partition_view<tile=(8x8), tensor_view<6x8xf32, strides=[8,1]>>
  // fixed: %bv = make_partition_view %b : partition_view<tile=(8x8), padding_value = zero, tensor_view<6x8xf32, strides=[8,1]>>
  %cv = make_partition_view %c : partition_view<tile=(8x8), tensor_view<8x8xf32, strides=[8,1]>>
  %x, %t = load_view_tko weak %av[%z, %z] : partition_view<tile=(8x8), padding_value = zero, tensor_view<8x6xf32, strides=[6,1]>>, tile<i32> -> tile<8x8xf32>, token
  %y, %t1 = load_view_tko weak %bv[%z, %z] : partition_view<tile=(8x8), tensor_view<6x8xf32, strides=[8,1]>>, tile<i32> -> tile<8x8xf32>, token  // other: uninit
  // fixed: %y, %t1 = load_view_tko weak %bv[%z, %z] : partition_view<tile=(8x8), padding_value = zero, tensor_view<6x8xf32, strides=[8,1]>>, tile<i32> -> tile<8x8xf32>, token
  %acc = constant <f32: 0.0> : tile<8x8xf32>
  %r = mmaf %x, %y, %acc : tile<8x8xf32>, tile<8x8xf32>, tile<8x8xf32>
  %t2 = store_view_tko weak %r, %cv[%z, %z] : tile<8x8xf32>, partition_view<tile=(8x8), tensor_view<8x8xf32, strides=[8,1]>>, tile<i32> -> token  // fault: uninit
  return
} }

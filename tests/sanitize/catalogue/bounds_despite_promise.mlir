// A promise that a tile is inside does not make memory.
// run: --arg arange:f32:6 --arg zeros:f32:8
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %s = make_tensor_view %p, shape = [6], strides = [1] : tensor_view<6xf32, strides=[1]>
  %d = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(8), padding_value = zero, tensor_view<6xf32, strides=[1]>>
  %dv = make_partition_view %d : partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>
  %v, %t = load_view_tko weak %sv[%z] inbounds = [true] : partition_view<tile=(8), padding_value = zero, tensor_view<6xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token  // fault: bounds: 0 bytes after the end // fault: promise: as 'inbounds' promises
  // fixed: %v, %t = load_view_tko weak %sv[%z] : partition_view<tile=(8), padding_value = zero, tensor_view<6xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
  %t1 = store_view_tko weak %v, %dv[%z] : tile<8xf32>, partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>, tile<i32> -> token
  return
} }

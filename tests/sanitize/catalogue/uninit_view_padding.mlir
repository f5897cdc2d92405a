// A tile at the edge of a view without padding is summed up.
// run: --arg arange:f32:6 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %s = make_tensor_view %p, shape = [6], strides = [1] : tensor_view<6xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(8), tensor_view<6xf32, strides=[1]>>
  // fixed: %sv = make_partition_view %s : partition_view<tile=(8), padding_value = zero, tensor_view<6xf32, strides=[1]>>
  %w, %t = load_view_tko weak %sv[%z] : partition_view<tile=(8), tensor_view<6xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token  // other: uninit
  // fixed: %w, %t = load_view_tko weak %sv[%z] : partition_view<tile=(8), padding_value = zero, tensor_view<6xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
  %v = reduce %w dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>) {
    %a = addf %x, %y : tile<f32>
    yield %a : tile<f32>
  }
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token  // fault: uninit
  return
} }

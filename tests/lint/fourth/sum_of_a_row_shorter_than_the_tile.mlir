// A prefix sum runs over elements outside the array, whose values nothing defines.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %w = make_tensor_view %p, shape = [10], strides = [1] : tensor_view<10xf32, strides=[1]>
  %x = make_partition_view %w : partition_view<tile=(16), tensor_view<10xf32, strides=[1]>>
  // fixed: %x = make_partition_view %w : partition_view<tile=(16), padding_value = zero, tensor_view<10xf32, strides=[1]>>
  %v, %t = load_view_tko weak %x[%c0] : partition_view<tile=(16), tensor_view<10xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  // fixed: %v, %t = load_view_tko weak %x[%c0] : partition_view<tile=(16), padding_value = zero, tensor_view<10xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  %s = reduce %v dim=0 identities=[0.0 : f32] : tile<16xf32> -> tile<f32> (%e: tile<f32>, %acc: tile<f32>) {  // fault: lint
    %n = addf %e, %acc : tile<f32>
    yield %n : tile<f32>
  }
  %u = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
  return
} }

// A view claims more elements than its argument has.
// run: --grid 2 --arg arange:f32:12 --arg zeros:f32:16
// fixed-run: --grid 2 --arg arange:f32:16 --arg zeros:f32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %s = make_tensor_view %p, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %d = make_tensor_view %q, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(8), padding_value = zero, tensor_view<16xf32, strides=[1]>>
  %dv = make_partition_view %d : partition_view<tile=(8), tensor_view<16xf32, strides=[1]>>
  %v, %t = load_view_tko weak %sv[%b] : partition_view<tile=(8), padding_value = zero, tensor_view<16xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token  // fault: bounds: 0 bytes after the end of argument '0'
  %t1 = store_view_tko weak %v, %dv[%b] : tile<8xf32>, partition_view<tile=(8), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token
  return
} }

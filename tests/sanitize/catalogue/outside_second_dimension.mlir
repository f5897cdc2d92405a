// The index of the second dimension counts elements instead of tiles.
// run: --grid 1,2 --arg ones:f32:8x16 --arg zeros:f32:8x16
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %i, %j, %z = get_tile_block_id : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  // fixed: %c8 = constant <i32: 1> : tile<i32>
  %k = muli %j, %c8 : tile<i32>
  %v = make_tensor_view %p, shape=[8, 16], strides=[16, 1] : tensor_view<8x16xf32, strides=[16,1]>
  %w = make_tensor_view %q, shape=[8, 16], strides=[16, 1] : tensor_view<8x16xf32, strides=[16,1]>
  %pv = make_partition_view %v : partition_view<tile=(8x8), padding_value = zero, tensor_view<8x16xf32, strides=[16,1]>>
  %qv = make_partition_view %w : partition_view<tile=(8x8), tensor_view<8x16xf32, strides=[16,1]>>
  %x, %t = load_view_tko weak %pv[%i, %k] : partition_view<tile=(8x8), padding_value = zero, tensor_view<8x16xf32, strides=[16,1]>>, tile<i32> -> tile<8x8xf32>, token  // fault: outside: a read of a tile
  %t1 = store_view_tko weak %x, %qv[%i, %j] : tile<8x8xf32>, partition_view<tile=(8x8), tensor_view<8x16xf32, strides=[16,1]>>, tile<i32> -> token
  return
} }

// The tiles of a view overlap, because its stride is smaller than a row.
// run: --grid 2 --arg zeros:f32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %x = constant <f32: 1.0> : tile<1x4xf32>
  %s = make_tensor_view %p, shape = [2, 4], strides = [3, 1] : tensor_view<2x4xf32, strides=[3,1]>
  // fixed: %s = make_tensor_view %p, shape = [2, 4], strides = [4, 1] : tensor_view<2x4xf32, strides=[4,1]>
  %v = make_partition_view %s : partition_view<tile=(1x4), tensor_view<2x4xf32, strides=[3,1]>>
  // fixed: %v = make_partition_view %s : partition_view<tile=(1x4), tensor_view<2x4xf32, strides=[4,1]>>
  %t = store_view_tko weak %x, %v[%b, %c0] : tile<1x4xf32>, partition_view<tile=(1x4), tensor_view<2x4xf32, strides=[3,1]>>, tile<i32> -> token  // fault: race: with this operation // cause: tile blocks (0, 0, 0) and (1, 0, 0) do not synchronize: give each its own elements, or use an atomic
  // fixed: %t = store_view_tko weak %x, %v[%b, %c0] : tile<1x4xf32>, partition_view<tile=(1x4), tensor_view<2x4xf32, strides=[4,1]>>, tile<i32> -> token
  return
} }

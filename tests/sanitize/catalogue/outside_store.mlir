// The last tile block stores a tile that is wholly outside the array.
// run: --grid 3 --arg zeros:f32:20
// fixed-run: --grid 2 --arg zeros:f32:20
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %v = make_tensor_view %p, shape=[20], strides=[1] : tensor_view<20xf32, strides=[1]>
  %tiles = make_partition_view %v : partition_view<tile=(16), tensor_view<20xf32, strides=[1]>>
  %x = constant <f32: 2.5> : tile<16xf32>
  %t = store_view_tko weak %x, %tiles[%b] : tile<16xf32>, partition_view<tile=(16), tensor_view<20xf32, strides=[1]>>, tile<i32> -> token  // fault: outside: a write of a tile
  return
} }

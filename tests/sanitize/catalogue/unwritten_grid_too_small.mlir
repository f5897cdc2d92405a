// The grid has too few tile blocks for the output.
// run: --grid 3 --arg out=output:f32:64
// fixed-run: --grid 4 --arg out=output:f32:64
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %v = make_tensor_view %p, shape=[64], strides=[1] : tensor_view<64xf32, strides=[1]>
  %tiles = make_partition_view %v : partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>
  %x = constant <f32: 2.5> : tile<16xf32>
  %t = store_view_tko weak %x, %tiles[%b] : tile<16xf32>, partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token  // fault: unwritten: the first one is [48] // cause: but the grid is (3, 1, 1)
  return
} }

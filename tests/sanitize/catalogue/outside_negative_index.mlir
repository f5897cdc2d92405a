// The first tile block loads the tile before the first one.
// run: --grid 2 --arg ones:f32:32 --arg zeros:f32:32
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  // fixed: %c1 = constant <i32: 0> : tile<i32>
  %before = subi %b, %c1 : tile<i32>
  %v = make_tensor_view %p, shape=[32], strides=[1] : tensor_view<32xf32, strides=[1]>
  %w = make_tensor_view %q, shape=[32], strides=[1] : tensor_view<32xf32, strides=[1]>
  %tiles = make_partition_view %v : partition_view<tile=(16), padding_value = zero, tensor_view<32xf32, strides=[1]>>
  %outs = make_partition_view %w : partition_view<tile=(16), tensor_view<32xf32, strides=[1]>>
  %x, %t = load_view_tko weak %tiles[%before] : partition_view<tile=(16), padding_value = zero, tensor_view<32xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token  // fault: outside: a read of a tile
  %t1 = store_view_tko weak %x, %outs[%b] : tile<16xf32>, partition_view<tile=(16), tensor_view<32xf32, strides=[1]>>, tile<i32> -> token
  return
} }

// The grid has one tile block more than the array has tiles, which loads a tile that does not exist.
// run: --grid 3 --arg ones:f32:32 --arg zeros:f32:3
// fixed-run: --grid 2 --arg ones:f32:32 --arg zeros:f32:3
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %v = make_tensor_view %p, shape=[32], strides=[1] : tensor_view<32xf32, strides=[1]>
  %tiles = make_partition_view %v : partition_view<tile=(16), padding_value = zero, tensor_view<32xf32, strides=[1]>>
  %x, %t = load_view_tko weak %tiles[%b] : partition_view<tile=(16), padding_value = zero, tensor_view<32xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token  // fault: outside: a read of a tile
  %s = reduce %x dim=0 identities=[0.0 : f32] : tile<16xf32> -> tile<f32> (%one: tile<f32>, %two: tile<f32>) {
    %sum = addf %one, %two : tile<f32>
    yield %sum : tile<f32>
  }
  %at = offset %q, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %t1 = store_ptr_tko weak %at, %s : tile<ptr<f32>>, tile<f32> -> token
  return
} }

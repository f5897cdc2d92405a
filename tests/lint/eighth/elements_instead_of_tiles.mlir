// The index of a tile is counted in elements: all tiles but the first are outside of the 64 numbers.
// run: --grid 4 --arg zeros:f32:64
cuda_tile.module @m { entry @k(%out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %long = constant <i32: 16> : tile<i32>
  // fixed: %long = constant <i32: 1> : tile<i32>
  %ones = constant <f32: 1.0> : tile<16xf32>
  %at = muli %b, %long : tile<i32>
  %v = make_tensor_view %out, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>
  %t = store_view_tko weak %ones, %w[%at] : tile<16xf32>, partition_view<tile=(16), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token  // fault: outside
  return
} }

// The last tile block stores past the tensor that it promised to stay in.
// run: --grid 2 --arg zeros:f32:16
cuda_tile.module @m { entry @k(%q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %d = make_tensor_view %q, shape = [12], strides = [1] : tensor_view<12xf32, strides=[1]>
  %dv = make_partition_view %d : partition_view<tile=(8), tensor_view<12xf32, strides=[1]>>
  %v = constant <f32: 1.0> : tile<8xf32>
  %t1 = store_view_tko weak %v, %dv[%b] inbounds = [true] : tile<8xf32>, partition_view<tile=(8), tensor_view<12xf32, strides=[1]>>, tile<i32> -> token  // fault: promise: the index of the tile is [1]
  // fixed: %t1 = store_view_tko weak %v, %dv[%b] : tile<8xf32>, partition_view<tile=(8), tensor_view<12xf32, strides=[1]>>, tile<i32> -> token
  return
} }

// A tile is reduced atomically, and loaded by other tile blocks without an order.
// run: --grid 3 --arg zeros:f32:16 --arg zeros:f32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %x = constant <f32: 1.0> : tile<4xf32>
  %s = make_tensor_view %p, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %v = make_partition_view %s : partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>
  %d = make_tensor_view %q, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %w = make_partition_view %d : partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>
  %t = atomic_red_view_tko relaxed device %v[%c0], addf, %x : tile<4xf32>, partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token  // other: race
  %y1, %t1 = load_view_tko weak %v[%c0] token=%t : partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token  // fault: race: two tile blocks // cause: load_view_tko is weak; it would not race if it were strong and of the same size
  // fixed: %y1, %t1 = load_view_tko relaxed device %v[%c0] token=%t : partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>, tile<i32> -> tile<4xf32>, token
  %t2 = store_view_tko weak %y1, %w[%b] : tile<4xf32>, partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token
  return
} }

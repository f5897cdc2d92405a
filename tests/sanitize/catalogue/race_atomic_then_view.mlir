// A tile block adds to an element by an atomic operation and loads the tile around it without waiting for that.
// run: --arg zeros:f32:16 --arg zeros:f32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %x = constant <f32: 1.0> : tile<f32>
  %v = make_tensor_view %p, shape=[16], strides=[1] : tensor_view<16xf32, strides=[1]>
  %w = make_tensor_view %q, shape=[16], strides=[1] : tensor_view<16xf32, strides=[1]>
  %pv = make_partition_view %v : partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>
  %qv = make_partition_view %w : partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>
  %old, %t = atomic_rmw_tko relaxed device %p, addf, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token  // other: race
  %r, %t1 = load_view_tko weak %pv[%c0] : partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token  // fault: race // cause: no token leads from atomic_rmw_tko to load_view_tko
  // fixed: %r, %t1 = load_view_tko weak %pv[%c0] token=%t : partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  %t2 = store_view_tko weak %r, %qv[%c0] : tile<16xf32>, partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token
  return
} }

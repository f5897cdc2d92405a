// Every tile block stores its own tile to the first tile of a view.
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %z = constant <i32: 0> : tile<i32>
  %s = make_tensor_view %p, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
  %sv = make_partition_view %s : partition_view<tile=(16), tensor_view<1024xf32, strides=[1]>>
  %v, %t = load_view_tko weak %sv[%bx] : partition_view<tile=(16), tensor_view<1024xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  %d = make_tensor_view %q, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
  %dv = make_partition_view %d : partition_view<tile=(16), tensor_view<1024xf32, strides=[1]>>
  %u = store_view_tko weak %v, %dv[%z] : tile<16xf32>, partition_view<tile=(16), tensor_view<1024xf32, strides=[1]>>, tile<i32> -> token  // fault: lint
  // fixed: %u = store_view_tko weak %v, %dv[%bx] : tile<16xf32>, partition_view<tile=(16), tensor_view<1024xf32, strides=[1]>>, tile<i32> -> token
  return
} }

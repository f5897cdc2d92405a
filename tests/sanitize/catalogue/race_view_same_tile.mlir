// Two tile blocks store the same tile of a view.
// run: --grid 4 --arg zeros:f32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %x = constant <f32: 1.0> : tile<4xf32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %at = divi %b, %two signed : tile<i32>
  // fixed: %at = remi %b, %n signed : tile<i32>
  %s = make_tensor_view %p, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %v = make_partition_view %s : partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>
  %t = store_view_tko weak %x, %v[%at] : tile<4xf32>, partition_view<tile=(4), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token  // fault: race: with this operation // cause: tile blocks (0, 0, 0) and (1, 0, 0) do not synchronize: give each its own elements, or use an atomic
  return
} }

// A matrix product: each tile block computes 16 by 16 elements of c, 16 columns of a at a time.
entry @product(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %a_view = make_tensor_view %a, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %b_view = make_tensor_view %b, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %c_view = make_tensor_view %c, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %a_tiles = make_partition_view %a_view : partition_view<tile=(16x16), tensor_view<64x64xf32, strides=[64,1]>>
  %b_tiles = make_partition_view %b_view : partition_view<tile=(16x16), tensor_view<64x64xf32, strides=[64,1]>>
  %c_tiles = make_partition_view %c_view : partition_view<tile=(16x16), tensor_view<64x64xf32, strides=[64,1]>>
  %zero = constant <f32: 0.0> : tile<16x16xf32>
  %start = constant <i32: 0> : tile<i32>
  %end = constant <i32: 4> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %sum = for %k in (%start to %end, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<16x16xf32>) {
    %left, %t0 = load_view_tko weak %a_tiles[%x, %k] : partition_view<tile=(16x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<16x16xf32>, token
    %right, %t1 = load_view_tko weak %b_tiles[%k, %y] : partition_view<tile=(16x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<16x16xf32>, token
    %next = mmaf %left, %right, %acc : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>
    continue %next : tile<16x16xf32>
  }
  %t2 = store_view_tko weak %sum, %c_tiles[%x, %y] : tile<16x16xf32>, partition_view<tile=(16x16), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
  return
}

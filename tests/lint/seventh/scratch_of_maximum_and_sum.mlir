// The scratch memory of a maximum is used again for a sum, without waiting until the maximum was read.
// run: --grid 2 --arg arange:f32:16 --arg zeros:f32:4
cuda_tile.module @m { entry @k(%x: tile<ptr<f32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %g = alloca num_elem = 1, alignment = 4 : tile<ptr<f32>>
  %v = make_tensor_view %x, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), padding_value = zero, tensor_view<16xf32, strides=[1]>>
  %row, %tr = load_view_tko weak %w[%b] : partition_view<tile=(8), padding_value = zero, tensor_view<16xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
  %most = reduce %row dim=0 identities=[0xFF800000 : f32] : tile<8xf32> -> tile<f32> (%l: tile<f32>, %r: tile<f32>) {
    %m = maxf %l, %r : tile<f32>
    yield %m : tile<f32>
  }
  %sum = reduce %row dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  %t1 = store_ptr_tko weak %g, %most : tile<ptr<f32>>, tile<f32> -> token
  %first, %t2 = load_ptr_tko weak %g token=%t1 : tile<ptr<f32>> -> tile<f32>, token  // other: race
  %t3 = store_ptr_tko weak %g, %sum token=%t1 : tile<ptr<f32>>, tile<f32> -> token  // fault: race: no token orders
  // fixed: %t3 = store_ptr_tko weak %g, %sum token=%t2 : tile<ptr<f32>>, tile<f32> -> token
  %second, %t4 = load_ptr_tko weak %g token=%t3 : tile<ptr<f32>> -> tile<f32>, token
  %at = muli %b, %c2 : tile<i32>
  %next = addi %at, %c1 : tile<i32>
  %a = offset %out, %at : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %c = offset %out, %next : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %t5 = store_ptr_tko weak %a, %first : tile<ptr<f32>>, tile<f32> -> token
  %t6 = store_ptr_tko weak %c, %second : tile<ptr<f32>>, tile<f32> -> token
  return
} }

// All of a row is copied to the output and its second half is then stored again, rotated; nothing orders the two stores.
// run: --grid 2 --arg arange:f32:32 --arg zeros:f32:32
cuda_tile.module @m { entry @k(%x: tile<ptr<f32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c16 = constant <i32: 16> : tile<i32>
  %first = muli %b, %c16 : tile<i32>
  %i = iota : tile<16xi32>
  %j = iota : tile<8xi32>
  %eight = constant <i32: 8> : tile<8xi32>
  %half = addi %j, %eight : tile<8xi32>
  %from = offset %x, %first : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %f1 = reshape %from : tile<ptr<f32>> -> tile<1xptr<f32>>
  %fn = broadcast %f1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %fa = offset %fn, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %fm = broadcast %f1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %fb = offset %fm, %half : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %v, %t1 = load_ptr_tko weak %fa : tile<16xptr<f32>> -> tile<16xf32>, token
  %w, %t2 = load_ptr_tko weak %fb : tile<8xptr<f32>> -> tile<8xf32>, token
  %r = negf %w : tile<8xf32>
  %to = offset %out, %first : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %o1 = reshape %to : tile<ptr<f32>> -> tile<1xptr<f32>>
  %on = broadcast %o1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %oa = offset %on, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %om = broadcast %o1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %ob = offset %om, %half : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %t3 = store_ptr_tko weak %oa, %v token=%t1 : tile<16xptr<f32>>, tile<16xf32> -> token  // other: race
  %t4 = store_ptr_tko weak %ob, %r token=%t2 : tile<8xptr<f32>>, tile<8xf32> -> token  // fault: race: no token orders
  // fixed: %t4 = store_ptr_tko weak %ob, %r token=%t3 : tile<8xptr<f32>>, tile<8xf32> -> token
  return
} }

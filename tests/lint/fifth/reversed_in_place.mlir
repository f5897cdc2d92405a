// An array is reversed in place: each block stores its tile where another one loads.
// run: --grid 4 --arg arange:f32:32 --arg zeros:f32:32
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %last = subi %n, %c1 : tile<i32>
  %r = subi %last, %b : tile<i32>
  %from = muli %r, %c8 : tile<i32>
  %to = muli %b, %c8 : tile<i32>
  %i = iota : tile<8xi32>
  %fn_1 = reshape %from : tile<i32> -> tile<1xi32>
  %fn = broadcast %fn_1 : tile<1xi32> -> tile<8xi32>
  %tn_1 = reshape %to : tile<i32> -> tile<1xi32>
  %tn = broadcast %tn_1 : tile<1xi32> -> tile<8xi32>
  %fi = addi %fn, %i : tile<8xi32>
  %ti = addi %tn, %i : tile<8xi32>
  %src_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %src_n = broadcast %src_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %src = offset %src_n, %fi : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %same_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %same_n = broadcast %same_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %same = offset %same_n, %ti : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %apart_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %apart_n = broadcast %apart_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %apart = offset %apart_n, %ti : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %v, %t = load_ptr_tko weak %src : tile<8xptr<f32>> -> tile<8xf32>, token  // other: race
  %u = store_ptr_tko weak %same, %v token=%t : tile<8xptr<f32>>, tile<8xf32> -> token  // fault: race: two tile blocks
  // fixed: %u = store_ptr_tko weak %apart, %v token=%t : tile<8xptr<f32>>, tile<8xf32> -> token
  return
} }

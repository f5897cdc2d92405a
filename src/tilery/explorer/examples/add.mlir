// Two arrays are added, 64 elements per tile block; the mask leaves out what is beyond the end.
entry @add(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %out: tile<ptr<f32>>, %n: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %width = constant <i32: 64> : tile<i32>
  %first = muli %x, %width : tile<i32>
  %lanes = iota : tile<64xi32>
  %firsts_1 = reshape %first : tile<i32> -> tile<1xi32>
  %firsts = broadcast %firsts_1 : tile<1xi32> -> tile<64xi32>
  %index = addi %firsts, %lanes : tile<64xi32>
  %n_1 = reshape %n : tile<i32> -> tile<1xi32>
  %ns = broadcast %n_1 : tile<1xi32> -> tile<64xi32>
  %inside = cmpi less_than %index, %ns, signed : tile<64xi32> -> tile<64xi1>
  %a_1 = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_64 = broadcast %a_1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %a_at = offset %a_64, %index : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %b_1 = reshape %b : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b_64 = broadcast %b_1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %b_at = offset %b_64, %index : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %zero = constant <f32: 0.0> : tile<64xf32>
  %left, %t0 = load_ptr_tko weak %a_at, %inside, %zero : tile<64xptr<f32>>, tile<64xi1>, tile<64xf32> -> tile<64xf32>, token
  %right, %t1 = load_ptr_tko weak %b_at, %inside, %zero : tile<64xptr<f32>>, tile<64xi1>, tile<64xf32> -> tile<64xf32>, token
  %sum = addf %left, %right : tile<64xf32>
  %o_1 = reshape %out : tile<ptr<f32>> -> tile<1xptr<f32>>
  %o_64 = broadcast %o_1 : tile<1xptr<f32>> -> tile<64xptr<f32>>
  %o_at = offset %o_64, %index : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
  %t2 = store_ptr_tko weak %o_at, %sum, %inside : tile<64xptr<f32>>, tile<64xf32>, tile<64xi1> -> token
  return
}

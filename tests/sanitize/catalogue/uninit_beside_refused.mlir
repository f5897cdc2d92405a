// One tile block reads outside its buffer; the padding that another one stores is still undefined.
// run: --grid 3 --arg arange:f32:20 --arg zeros:f32:24
// fixed-run: --grid 3 --arg arange:f32:24 --arg zeros:f32:24
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %by, %bz = get_tile_block_id : tile<i32>
  %eight = constant <i32: 8> : tile<i32>
  %start = muli %b, %eight : tile<i32>
  %pb = offset %p, %start : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %qb = offset %q, %start : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %i = iota : tile<8xi32>
  %a_1 = reshape %pb : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a_n = broadcast %a_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %a = offset %a_n, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %b_1 = reshape %qb : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b_n = broadcast %b_1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %o = offset %b_n, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %n = constant <i32: 6> : tile<8xi32>
  %m = cmpi less_than %i, %n, signed : tile<8xi32> -> tile<8xi1>
  %v, %t = load_ptr_tko weak %a, %m : tile<8xptr<f32>>, tile<8xi1> -> tile<8xf32>, token  // fault: bounds  // other: uninit
  %t1 = store_ptr_tko weak %o, %v : tile<8xptr<f32>>, tile<8xf32> -> token  // fault: uninit
  // fixed: %t1 = store_ptr_tko weak %o, %v, %m : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
  return
} }

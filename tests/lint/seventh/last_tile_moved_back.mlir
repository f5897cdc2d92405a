// The last tile is moved back so that it ends with the array. It overlaps the one before it, and both work in place.
// run: --grid 2 --arg arange:f32:12
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %i = iota : tile<8xi32>
  %c8 = constant <i32: 8> : tile<i32>
  %c4 = constant <i32: 4> : tile<i32>
  %end = constant <i32: 12> : tile<8xi32>
  %at = muli %b, %c8 : tile<i32>
  %first = mini %at, %c4 signed : tile<i32>
  // fixed: %first = maxi %at, %at signed : tile<i32>
  %f1 = reshape %first : tile<i32> -> tile<1xi32>
  %fn = broadcast %f1 : tile<1xi32> -> tile<8xi32>
  %o = addi %fn, %i : tile<8xi32>
  %m = cmpi less_than %o, %end, signed : tile<8xi32> -> tile<8xi1>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pn = broadcast %p1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %a = offset %pn, %o : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %zero = constant <f32: 0.0> : tile<8xf32>
  %v, %t1 = load_ptr_tko weak %a, %m, %zero : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token  // other: race
  %d = addf %v, %v : tile<8xf32>
  %t2 = store_ptr_tko weak %a, %d, %m token=%t1 : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token  // fault: race
  return
} }

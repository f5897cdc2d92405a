// A mask compares the number of a head inside its block with the number of all heads: the last block writes too many.
// run: --grid 2,2 --arg zeros:f32:24
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %token, %block, %z = get_tile_block_id : tile<i32>
  %i = iota : tile<4xi32>
  %four = constant <i32: 4> : tile<i32>
  %six = constant <i32: 6> : tile<i32>
  %heads = constant <i32: 6> : tile<4xi32>
  %row = muli %token, %six : tile<i32>
  %first = muli %block, %four : tile<i32>
  %start = addi %row, %first : tile<i32>
  %f1 = reshape %first : tile<i32> -> tile<1xi32>
  %fn = broadcast %f1 : tile<1xi32> -> tile<4xi32>
  %global = addi %fn, %i : tile<4xi32>
  %m = cmpi less_than %i, %heads, signed : tile<4xi32> -> tile<4xi1>
  // fixed: %m = cmpi less_than %global, %heads, signed : tile<4xi32> -> tile<4xi1>
  %x = itof %global signed : tile<4xi32> -> tile<4xf32>
  %to = offset %p, %start : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %t1 = reshape %to : tile<ptr<f32>> -> tile<1xptr<f32>>
  %tn = broadcast %t1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %a = offset %tn, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %t = store_ptr_tko weak %a, %x, %m : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token  // fault: race
  return
} }

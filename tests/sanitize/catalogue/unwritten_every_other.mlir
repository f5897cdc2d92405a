// A tile block stores to every other element of its part of the output.
// run: --grid 2 --arg out=output:i32:16
cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %two = constant <i32: 2> : tile<4xi32>
  %lane = iota : tile<4xi32>
  %even = muli %lane, %two : tile<4xi32>
  %start = muli %b, %c8 : tile<i32>
  %s1 = reshape %start : tile<i32> -> tile<1xi32>
  %s4 = broadcast %s1 : tile<1xi32> -> tile<4xi32>
  %i = addi %s4, %even : tile<4xi32>
  %one = constant <i32: 1> : tile<4xi32>
  %odd = addi %i, %one : tile<4xi32>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p4 = broadcast %p1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %at = offset %p4, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %at1 = offset %p4, %odd : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %t = store_ptr_tko weak %at, %i : tile<4xptr<i32>>, tile<4xi32> -> token  // fault: unwritten: their number is 8 of 16
  %t1 = make_token : token
  // fixed: %t1 = store_ptr_tko weak %at1, %i : tile<4xptr<i32>>, tile<4xi32> -> token
  return
} }

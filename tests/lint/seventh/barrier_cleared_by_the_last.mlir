// The last tile block to arrive at a barrier clears it for the next launch, perhaps before the others have seen it full.
// run: --grid 3 --arg zeros:i32:1 --arg zeros:i32:3
cuda_tile.module @m { entry @k(%count: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %last = subi %n, %c1 : tile<i32>
  %old, %t1 = atomic_rmw_tko acq_rel device %count, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %is_last = cmpi equal %old, %last, signed : tile<i32> -> tile<i1>
  %ready = if %is_last -> (token) {
    %t = store_ptr_tko release device %count, %c0 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
    // fixed: %t = join_tokens %t1, %t1 : token
    yield %t : token
  } else {
    %all = loop : token {  // fault: deadlock
      %f, %ta = load_ptr_tko acquire device %count token=%t1 : tile<ptr<i32>> -> tile<i32>, token
      %here = cmpi equal %f, %n, signed : tile<i32> -> tile<i1>
      if %here {
        break %ta : token
      }
      continue
    }
    yield %all : token
  }
  %to = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t2 = store_ptr_tko weak %to, %old token=%ready : tile<ptr<i32>>, tile<i32> -> token
  return
} }

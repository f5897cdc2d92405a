// Tile blocks wait until one more than there are has arrived.
// run: --grid 4 --arg zeros:i32:1 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%count: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %old, %t1 = atomic_rmw_tko acq_rel device %count, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %all = loop : token {  // fault: deadlock
    %f, %ta = load_ptr_tko acquire device %count token=%t1 : tile<ptr<i32>> -> tile<i32>, token
    %here = cmpi greater_than %f, %n, signed : tile<i32> -> tile<i1>
    // fixed: %here = cmpi greater_than_or_equal %f, %n, signed : tile<i32> -> tile<i1>
    if %here {
      break %ta : token
    }
    continue
  }
  %dst = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t3 = store_ptr_tko weak %dst, %old token=%all : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// Tile blocks wait until all but one have arrived, and read what the next one stored.
// run: --grid 4 --arg zeros:i32:1 --arg zeros:i32:4 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%count: tile<ptr<i32>>, %p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %goal = subi %n, %c1 : tile<i32>
  // fixed: %goal = maxi %n, %c1 signed : tile<i32>
  %mine = offset %p, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %dst = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %next = addi %b, %c1 : tile<i32>
  %other = remi %next, %n signed : tile<i32>
  %theirs = offset %p, %other : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %mine, %b : tile<ptr<i32>>, tile<i32> -> token  // other: race
  %old, %t1 = atomic_rmw_tko acq_rel device %count, add, %c1 token=%t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %all = loop : token {
    %f, %ta = load_ptr_tko acquire device %count token=%t1 : tile<ptr<i32>> -> tile<i32>, token
    %here = cmpi greater_than_or_equal %f, %goal, signed : tile<i32> -> tile<i1>
    if %here {
      break %ta : token
    }
    continue
  }
  %v, %t2 = load_ptr_tko weak %theirs token=%all : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks
  %t3 = store_ptr_tko weak %dst, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// Every tile block announces two parts, one after the other; the one that adds them up waits for one of each.
// run: --grid 3 --arg zeros:i32:1 --arg zeros:i32:3 --arg zeros:i32:3 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%count: tile<ptr<i32>>, %p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %goal = muli %n, %c1 : tile<i32>
  // fixed: %goal = muli %n, %c2 : tile<i32>
  %a1 = offset %p, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %a2 = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t1 = store_ptr_tko weak %a1, %b : tile<ptr<i32>>, tile<i32> -> token
  %o1, %t2 = atomic_rmw_tko acq_rel device %count, add, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %t3 = store_ptr_tko weak %a2, %b token=%t2 : tile<ptr<i32>>, tile<i32> -> token  // other: race
  %o2, %t4 = atomic_rmw_tko acq_rel device %count, add, %c1 token=%t3 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %is_owner = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %is_owner {
    %all = loop : token {
      %f, %ta = load_ptr_tko acquire device %count token=%t4 : tile<ptr<i32>> -> tile<i32>, token
      %here = cmpi greater_than_or_equal %f, %goal, signed : tile<i32> -> tile<i1>
      if %here {
        break %ta : token
      }
      continue
    }
    %sum = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%s = %c0) -> (tile<i32>) {
      %second = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %v, %tv = load_ptr_tko weak %second token=%all : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks
      %next = addi %s, %v : tile<i32>
      continue %next : tile<i32>
    }
    %t5 = store_ptr_tko weak %out, %sum : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }

// Readers look at the version of a record before they read it, but it may be changed while they do.
// run: --grid 3 --arg zeros:i32:1 --arg zeros:i32:1 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%version: tile<ptr<i32>>, %record: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %is_first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %is_first {
    %old, %t1 = atomic_rmw_tko acq_rel device %version, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %t2 = store_ptr_tko weak %record, %c2 token=%t1 : tile<ptr<i32>>, tile<i32> -> token  // other: race
    %new, %t3 = atomic_rmw_tko acq_rel device %version, add, %c1 token=%t2 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  } else {
    %stable = loop : token {
      %v, %ta = load_ptr_tko acquire device %version : tile<ptr<i32>> -> tile<i32>, token
      %odd = andi %v, %c1 : tile<i32>
      %is = cmpi equal %odd, %c0, signed : tile<i32> -> tile<i1>
      // fixed: %is = cmpi equal %v, %c2, signed : tile<i32> -> tile<i1>
      if %is {
        break %ta : token
      }
      continue
    }
    %r, %t1 = load_ptr_tko weak %record token=%stable : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks
    %to = offset %out, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t2 = store_ptr_tko weak %to, %r : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }

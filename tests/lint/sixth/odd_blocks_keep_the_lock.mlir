// Odd tile blocks do not release the lock.
// run: --grid 4 --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%lock: tile<ptr<i32>>, %sum: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %held = loop : token {  // fault: deadlock
    %was, %ta = atomic_cas_tko acquire device %lock, %c0, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %free = cmpi equal %was, %c0, signed : tile<i32> -> tile<i1>
    if %free {
      break %ta : token
    }
    continue
  }
  %v, %t1 = load_ptr_tko weak %sum token=%held : tile<ptr<i32>> -> tile<i32>, token
  %next = addi %v, %b : tile<i32>
  %t2 = store_ptr_tko weak %sum, %next token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  %low = andi %b, %c1 : tile<i32>
  // fixed: %low = andi %b, %c0 : tile<i32>
  %is_even = cmpi equal %low, %c0, signed : tile<i32> -> tile<i1>
  if %is_even {
    %t3 = store_ptr_tko release device %lock, %c0 token=%t2 : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }

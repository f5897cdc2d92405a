// Each tile block takes a lock of its own, and all change one sum.
// run: --grid 4 --arg zeros:i32:4 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%locks: tile<ptr<i32>>, %sum: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %lock = offset %locks, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  // fixed: %lock = offset %locks, %c0 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %held = loop : token {
    %was, %ta = atomic_cas_tko acquire device %lock, %c0, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %free = cmpi equal %was, %c0, signed : tile<i32> -> tile<i1>
    if %free {
      break %ta : token
    }
    continue
  }
  %v, %t1 = load_ptr_tko weak %sum token=%held : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks
  %next = addi %v, %c1 : tile<i32>
  %t2 = store_ptr_tko weak %sum, %next token=%t1 : tile<ptr<i32>>, tile<i32> -> token  // fault: race: two tile blocks // other: race
  %t3 = store_ptr_tko release device %lock, %c0 token=%t2 : tile<ptr<i32>>, tile<i32> -> token
  return
} }

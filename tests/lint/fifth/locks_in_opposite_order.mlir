// Two locks: even tile blocks take the first one first, odd ones the second one, so that each may wait for the other.
// run: --grid 2 --arg zeros:i32:2 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%locks: tile<ptr<i32>>, %sum: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %odd = andi %b, %c1 : tile<i32>
  // fixed: %odd = constant <i32: 0> : tile<i32>
  %even = subi %c1, %odd : tile<i32>
  %first = offset %locks, %odd : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %second = offset %locks, %even : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %one = loop : token {
    %was, %ta = atomic_cas_tko acquire device %first, %c0, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %free = cmpi equal %was, %c0, signed : tile<i32> -> tile<i1>
    if %free {
      break %ta : token
    }
    continue
  }
  %both = loop : token {  // fault: lint
    %was, %ta = atomic_cas_tko acquire device %second, %c0, %c1 token=%one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %free = cmpi equal %was, %c0, signed : tile<i32> -> tile<i1>
    if %free {
      break %ta : token
    }
    continue
  }
  %v, %t1 = load_ptr_tko weak %sum token=%both : tile<ptr<i32>> -> tile<i32>, token
  %next = addi %v, %c1 : tile<i32>
  %t2 = store_ptr_tko weak %sum, %next token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  %t3 = store_ptr_tko release device %second, %c0 token=%t2 : tile<ptr<i32>>, tile<i32> -> token
  %t4 = store_ptr_tko release device %first, %c0 token=%t3 : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A lock is taken by a relaxed operation.
// run: --grid 4 --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%lock: tile<ptr<i32>>, %sum: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %held = loop : token {
    %was, %ta = atomic_cas_tko relaxed device %lock, %c0, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    // fixed: %was, %ta = atomic_cas_tko acquire device %lock, %c0, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %free = cmpi equal %was, %c0, signed : tile<i32> -> tile<i1>
    if %free {
      break %ta : token
    }
    continue
  }
  %v, %t1 = load_ptr_tko weak %sum token=%held : tile<ptr<i32>> -> tile<i32>, token  // fault: race // cause: which is read by atomic_cas_tko, which is relaxed and must acquire
  %next = addi %v, %c1 : tile<i32>
  %t2 = store_ptr_tko weak %sum, %next token=%t1 : tile<ptr<i32>>, tile<i32> -> token  // fault: race // other: race // cause: which is read by atomic_cas_tko, which is relaxed and must acquire
  %t3 = store_ptr_tko release device %lock, %c0 token=%t2 : tile<ptr<i32>>, tile<i32> -> token
  return
} }

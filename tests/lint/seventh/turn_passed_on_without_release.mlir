// Tile blocks add to a sum one after the other; each passes its turn on with a relaxed store.
// run: --grid 4 --arg zeros:i32:1 --arg zeros:i32:1
cuda_tile.module @m { entry @k(%turn: tile<ptr<i32>>, %sum: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %mine = loop : token {
    %f, %ta = load_ptr_tko acquire device %turn : tile<ptr<i32>> -> tile<i32>, token
    %is = cmpi equal %f, %b, signed : tile<i32> -> tile<i1>
    if %is {
      break %ta : token
    }
    continue
  }
  %v, %t1 = load_ptr_tko weak %sum token=%mine : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks
  %s = addi %v, %b : tile<i32>
  %t2 = store_ptr_tko weak %sum, %s token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  %next = addi %b, %c1 : tile<i32>
  %t3 = store_ptr_tko relaxed device %turn, %next token=%t2 : tile<ptr<i32>>, tile<i32> -> token
  // fixed: %t3 = store_ptr_tko release device %turn, %next token=%t2 : tile<ptr<i32>>, tile<i32> -> token
  return
} }

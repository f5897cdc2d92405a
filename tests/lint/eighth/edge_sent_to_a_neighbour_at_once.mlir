// Tile blocks form a ring: each puts its edge into the box of the next one and reads its own box, without waiting.
// run: --grid 3 --arg zeros:i32:3 --arg zeros:i32:3 --arg zeros:i32:3
cuda_tile.module @m { entry @k(%box: tile<ptr<i32>>, %full: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %after = addi %b, %c1 : tile<i32>
  %next = remi %after, %n signed : tile<i32>
  %theirs = offset %box, %next : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %mine = offset %box, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %their_flag = offset %full, %next : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %my_flag = offset %full, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t1 = store_ptr_tko weak %theirs, %b : tile<ptr<i32>>, tile<i32> -> token  // other: race
  %t2 = store_ptr_tko release device %their_flag, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  %ready = make_token : token
  // fixed: %ready = loop : token { %f, %ta = load_ptr_tko acquire device %my_flag : tile<ptr<i32>> -> tile<i32>, token %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1> if %set { break %ta : token } continue }
  %v, %t3 = load_ptr_tko weak %mine token=%ready : tile<ptr<i32>> -> tile<i32>, token  // fault: race
  %to = offset %out, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t4 = store_ptr_tko weak %to, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// Each tile block waits for the one before it, the first one for the last one.
// run: --grid 4 --arg zeros:i32:4
cuda_tile.module @m { entry @k(%flags: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %less = addi %b, %n : tile<i32>
  %before = subi %less, %c1 : tile<i32>
  %previous = remi %before, %n signed : tile<i32>
  %theirs = offset %flags, %previous : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %mine = offset %flags, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %is_first = cmpi less_than %b, %c0, signed : tile<i32> -> tile<i1>
  // fixed: %is_first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  %start = make_token : token
  %turn = loop : token {  // fault: deadlock
    %f, %ta = load_ptr_tko acquire device %theirs token=%start : tile<ptr<i32>> -> tile<i32>, token
    %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
    %go = ori %set, %is_first : tile<i1>
    if %go {
      break %ta : token
    }
    continue
  }
  %t = store_ptr_tko release device %mine, %c1 token=%turn : tile<ptr<i32>>, tile<i32> -> token
  return
} }

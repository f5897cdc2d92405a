// Each tile block waits for the part of the next one before it adds its own; the last one waits for a block that is not there.
// run: --grid 2 --arg zeros:i32:3 --arg zeros:i32:3
cuda_tile.module @m { entry @k(%part: tile<ptr<i32>>, %flag: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %next = addi %b, %c1 : tile<i32>
  %start = make_token : token
  %has_next = cmpi less_than_or_equal %next, %n, signed : tile<i32> -> tile<i1>
  // fixed: %has_next = cmpi less_than %next, %n, signed : tile<i32> -> tile<i1>
  %theirs = offset %flag, %next : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %from = offset %part, %next : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %sum, %waited = if %has_next -> (tile<i32>, token) {
    %ready = loop : token {
      %f, %ta = load_ptr_tko acquire device %theirs token=%start : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
      %set = cmpi equal %f, %c1, signed : tile<i32> -> tile<i1>
      if %set {
        break %ta : token
      }
      continue
    }
    %v, %t = load_ptr_tko weak %from token=%ready : tile<ptr<i32>> -> tile<i32>, token
    %more = addi %v, %c1 : tile<i32>
    yield %more, %t : tile<i32>, token
  } else {
    yield %c1, %start : tile<i32>, token
  }
  %mine = offset %part, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %done = offset %flag, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t1 = store_ptr_tko weak %mine, %sum token=%waited : tile<ptr<i32>>, tile<i32> -> token
  %t2 = store_ptr_tko release device %done, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
  return
} }

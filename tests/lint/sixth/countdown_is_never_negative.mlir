// A loop counts down until its number is negative, and compares it as an unsigned one.
// run: --grid 2 --arg zeros:i32:16
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c7 = constant <i32: 7> : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %first = muli %b, %c8 : tile<i32>
  %row = offset %q, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %end = loop iter_values(%i = %c7) : tile<i32> -> tile<i32> {  // fault: lint
    %below = cmpi less_than %i, %c0, unsigned : tile<i32> -> tile<i1>
    // fixed: %below = cmpi less_than %i, %c0, signed : tile<i32> -> tile<i1>
    if %below {
      break %i : tile<i32>
    }
    %to = offset %row, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %to, %i : tile<ptr<i32>>, tile<i32> -> token
    %next = subi %i, %c1 : tile<i32>
    continue %next : tile<i32>
  }
  return
} }

// A loop doubles its step until it has passed the row, but starts from zero.
// run: --grid 2 --arg zeros:i32:2
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  // fixed: %c0 = constant <i32: 1> : tile<i32>
  %c100 = constant <i32: 100> : tile<i32>
  %end = loop iter_values(%i = %c0) : tile<i32> -> tile<i32> {  // fault: lint
    %passed = cmpi greater_than %i, %c100, signed : tile<i32> -> tile<i1>
    if %passed {
      break %i : tile<i32>
    }
    %next = addi %i, %i : tile<i32>
    continue %next : tile<i32>
  }
  %to = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = store_ptr_tko weak %to, %end : tile<ptr<i32>>, tile<i32> -> token
  return
} }

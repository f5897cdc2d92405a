// Cells change over four time steps, from one buffer to the other and back; nothing waits for the neighbour's step.
// run: --grid 4 --arg ones:i32:16
cuda_tile.module @m { entry @k(%cells: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %c4 = constant <i32: 4> : tile<i32>
  %far = addi %b, %c1 : tile<i32>
  %right = remi %far, %n signed : tile<i32>
  // fixed: %right = addi %b, %c0 : tile<i32>
  %start = make_token : token
  %end = for %step in (%c0 to %c4, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %now = remi %step, %c2 signed : tile<i32>
    %then = subi %c1, %now : tile<i32>
    %rows = muli %n, %now : tile<i32>
    %rows2 = muli %n, %then : tile<i32>
    %mine = addi %rows, %b : tile<i32>
    %theirs = addi %rows, %right : tile<i32>
    %new = addi %rows2, %b : tile<i32>
    %pm = offset %cells, %mine : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %pt = offset %cells, %theirs : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %pn = offset %cells, %new : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t1 = load_ptr_tko weak %pm token=%t0 : tile<ptr<i32>> -> tile<i32>, token
    %w, %t2 = load_ptr_tko weak %pt token=%t1 : tile<ptr<i32>> -> tile<i32>, token  // fault: race: two tile blocks
    %s = addi %v, %w : tile<i32>
    %t3 = store_ptr_tko weak %pn, %s token=%t2 : tile<ptr<i32>>, tile<i32> -> token  // fault: race: two tile blocks // other: race
    continue %t3 : token
  }
  return
} }

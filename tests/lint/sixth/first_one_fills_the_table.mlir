// The tile block that comes first fills a table, and the others read it without waiting until it is done.
// run: --grid 4 --arg zeros:i32:1 --arg zeros:i32:8 --arg zeros:i32:32
cuda_tile.module @m { entry @k(%once: tile<ptr<i32>>, %table: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %i = iota : tile<8xi32>
  %p1 = reshape %table : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p8 = broadcast %p1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %p8, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %was, %t0 = atomic_cas_tko acq_rel device %once, %c0, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %is_first = cmpi equal %was, %c0, signed : tile<i32> -> tile<i1>
  %filled = if %is_first -> (token) {
    %square = muli %i, %i : tile<8xi32>
    %t1 = store_ptr_tko weak %a, %square token=%t0 : tile<8xptr<i32>>, tile<8xi32> -> token  // other: race
    %t2 = store_ptr_tko release device %once, %c2 token=%t1 : tile<ptr<i32>>, tile<i32> -> token
    yield %t2 : token
  } else {
    yield %t0 : token
    // fixed: %done = loop : token { %f, %ta = load_ptr_tko acquire device %once token=%t0 : tile<ptr<i32>> -> tile<i32>, token %set = cmpi equal %f, %c2, signed : tile<i32> -> tile<i1> if %set { break %ta : token } continue } yield %done : token
  }
  %v, %t3 = load_ptr_tko weak %a token=%filled : tile<8xptr<i32>> -> tile<8xi32>, token  // fault: race: two tile blocks
  %first = muli %b, %c8 : tile<i32>
  %q = offset %out, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %q8 = broadcast %q1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %to = offset %q8, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %t4 = store_ptr_tko weak %to, %v : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

// Block 0 stores the element that all others read.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c7 = constant <i32: 7> : tile<i32>
  %d = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %first = cmpi equal %b, %c0, signed : tile<i32> -> tile<i1>
  if %first {
    %t = store_ptr_tko weak %q, %c7 : tile<ptr<i32>>, tile<i32> -> token
  } else {
    %v, %t1 = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token  // fault: lint
    // fixed: %v, %t1 = load_ptr_tko weak %d : tile<ptr<i32>> -> tile<i32>, token
    %a = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %u = store_ptr_tko weak %a, %v token = %t1 : tile<ptr<i32>>, tile<i32> -> token
  }
  return
} }

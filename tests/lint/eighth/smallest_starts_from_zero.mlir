// The smallest of unsigned numbers is looked for from zero on, so that it is always zero.
// run: --grid 2 --arg arange:i32:16 --arg zeros:i32:2
cuda_tile.module @m { entry @k(%x: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %start = constant <i32: 0> : tile<i32>
  // fixed: %start = constant <i32: -1> : tile<i32>
  %row = muli %b, %c8 : tile<i32>
  %first = offset %x, %row : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %least = for %i in (%c0 to %c8, step %c1) : tile<i32> iter_values(%m = %start) -> (tile<i32>) {
    %a = offset %first, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
    %is_less = cmpi less_than %v, %m, unsigned : tile<i32> -> tile<i1>
    %next = select %is_less, %v, %m : tile<i1>, tile<i32>  // fault: lint
    continue %next : tile<i32>
  }
  %to = offset %out, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %to, %least : tile<ptr<i32>>, tile<i32> -> token
  return
} }

// A loop swaps two pointers: each of them belongs to either argument, and after three times the wrong one is moved.
// run: --grid 2 --arg arange:i64:8 --arg zeros:i64:8
cuda_tile.module @m { entry @k(%p: tile<ptr<i64>>, %q: tile<ptr<i64>>) {
  %a = ptr_to_int %p : tile<ptr<i64>> -> tile<i64>
  %b = ptr_to_int %q : tile<ptr<i64>> -> tile<i64>
  %bytes = subi %b, %a : tile<i64>
  %eight = constant <i64: 8> : tile<i64>
  %n = divi %bytes, %eight signed rounding<zero> : tile<i64>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  // fixed: %three = constant <i32: 4> : tile<i32>
  %bid, %by, %bz = get_tile_block_id : tile<i32>
  %first = cmpi equal %bid, %zero, signed : tile<i32> -> tile<i1>
  %r, %s = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%u = %p, %v = %q) -> (tile<ptr<i64>>, tile<ptr<i64>>) {
    continue %v, %u : tile<ptr<i64>>, tile<ptr<i64>>
  }
  %to = if %first -> (tile<ptr<i64>>) {
    yield %p : tile<ptr<i64>>
  } else {
    %nothing = subi %n, %n : tile<i64>
    %d = offset %r, %nothing : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
    yield %d : tile<ptr<i64>>
  }
  %m = subi %n, %n : tile<i64>
  %back = subi %m, %n : tile<i64>
  %by1 = select %first, %m, %back : tile<i1>, tile<i64>
  // fixed: %by1 = select %first, %m, %m : tile<i1>, tile<i64>
  %end = offset %to, %by1 : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %x, %t = load_ptr_tko weak %end : tile<ptr<i64>> -> tile<i64>, token  // fault: bounds: a read through a pointer to argument '1'
  return
} }

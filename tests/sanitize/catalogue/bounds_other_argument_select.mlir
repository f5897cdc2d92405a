// Which argument a pointer belongs to is selected for each element; half of them are then moved into the other one.
// run: --arg arange:i64:8 --arg zeros:i64:8
cuda_tile.module @m { entry @k(%p: tile<ptr<i64>>, %q: tile<ptr<i64>>) {
  %a = ptr_to_int %p : tile<ptr<i64>> -> tile<i64>
  %b = ptr_to_int %q : tile<ptr<i64>> -> tile<i64>
  %bytes = subi %b, %a : tile<i64>
  %eight = constant <i64: 8> : tile<i64>
  %n = divi %bytes, %eight signed rounding<zero> : tile<i64>
  %i = iota : tile<8xi64>
  %four = constant <i64: 4> : tile<8xi64>
  %low = cmpi less_than %i, %four, signed : tile<8xi64> -> tile<8xi1>
  %p_1 = reshape %p : tile<ptr<i64>> -> tile<1xptr<i64>>
  %p_n = broadcast %p_1 : tile<1xptr<i64>> -> tile<8xptr<i64>>
  %q_1 = reshape %q : tile<ptr<i64>> -> tile<1xptr<i64>>
  %q_n = broadcast %q_1 : tile<1xptr<i64>> -> tile<8xptr<i64>>
  %one = select %low, %p_n, %q_n : tile<8xi1>, tile<8xptr<i64>>
  %n_1 = reshape %n : tile<i64> -> tile<1xi64>
  %n_n = broadcast %n_1 : tile<1xi64> -> tile<8xi64>
  %none = constant <i64: 0> : tile<8xi64>
  %by = select %low, %n_n, %none : tile<8xi1>, tile<8xi64>
  // fixed: %by = select %low, %none, %none : tile<8xi1>, tile<8xi64>
  %moved = offset %one, %by : tile<8xptr<i64>>, tile<8xi64> -> tile<8xptr<i64>>
  %to = offset %moved, %i : tile<8xptr<i64>>, tile<8xi64> -> tile<8xptr<i64>>
  %x, %t = load_ptr_tko weak %to : tile<8xptr<i64>> -> tile<8xi64>, token  // fault: bounds: a read through a pointer to argument '0'
  return
} }

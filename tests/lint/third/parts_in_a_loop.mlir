// A loop takes one part more than the tile has.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  
  %n = constant <i32: 5> : tile<i32>
  // fixed: %n = constant <i32: 4> : tile<i32>
  %x = iota : tile<32xi32>
  %z = constant <i32: 0> : tile<8xi32>
  %s = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%s0 = %z) -> (tile<8xi32>) {
    %r = extract %x[%i] : tile<32xi32> -> tile<8xi32>  // fault: lint
    %s1 = addi %s0, %r : tile<8xi32>
    continue %s1 : tile<8xi32>
  }
  %j = iota : tile<8xi32>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qn = broadcast %q1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %b = offset %qn, %j : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %u = store_ptr_tko weak %b, %s : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

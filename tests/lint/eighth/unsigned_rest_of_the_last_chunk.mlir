// 24 numbers are cleared in three chunks of 16; after the second one the rest is a difference below zero, and unsigned.
// run: --grid 2 --arg zeros:i32:2
cuda_tile.module @m { entry @k(%out: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %chunks = constant <i32: 3> : tile<i32>
  // fixed: %chunks = constant <i32: 2> : tile<i32>
  %c16 = constant <i32: 16> : tile<i32>
  %c24 = constant <i32: 24> : tile<i32>
  %zeros = constant <i32: 0> : tile<16xi32>
  %lane = iota : tile<16xi32>
  %scratch = alloca num_elem = 24, alignment = 4 : tile<ptr<i32>>
  %s1 = reshape %scratch : tile<ptr<i32>> -> tile<1xptr<i32>>
  %s16 = broadcast %s1 : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %start = make_token : token
  %cleared = for %i in (%c0 to %chunks, step %c1) : tile<i32> iter_values(%t0 = %start) -> (token) {
    %first = muli %i, %c16 : tile<i32>
    %rest = subi %c24, %first : tile<i32>
    %r1 = reshape %rest : tile<i32> -> tile<1xi32>
    %r16 = broadcast %r1 : tile<1xi32> -> tile<16xi32>
    %mask = cmpi less_than %lane, %r16, unsigned : tile<16xi32> -> tile<16xi1>
    %f1 = reshape %first : tile<i32> -> tile<1xi32>
    %f16 = broadcast %f1 : tile<1xi32> -> tile<16xi32>
    %at = addi %f16, %lane : tile<16xi32>
    %to = offset %s16, %at : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
    %t1 = store_ptr_tko weak %to, %zeros, %mask token=%t0 : tile<16xptr<i32>>, tile<16xi32>, tile<16xi1> -> token  // fault: bounds
    continue %t1 : token
  }
  %v, %t2 = load_ptr_tko weak %scratch token=%cleared : tile<ptr<i32>> -> tile<i32>, token
  %o = offset %out, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t3 = store_ptr_tko weak %o, %v : tile<ptr<i32>>, tile<i32> -> token
  return
} }

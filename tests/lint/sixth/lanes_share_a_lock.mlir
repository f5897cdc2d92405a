// A tile block goes on when each of its lanes has taken a lock, and two lanes want the same one.
// run: --grid 2 --arg zeros:i32:16
cuda_tile.module @m { entry @k(%locks: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %zeros = constant <i32: 0> : tile<8xi32>
  %ones = constant <i32: 1> : tile<8xi32>
  %i = iota : tile<8xi32>
  %which = shri %i, %ones unsigned : tile<8xi32>
  // fixed: %which = subi %i, %zeros : tile<8xi32>
  %c8 = constant <i32: 8> : tile<i32>
  %first = muli %b, %c8 : tile<i32>
  %own = offset %locks, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %p1 = reshape %own : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p8 = broadcast %p1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %a = offset %p8, %which : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %none = constant <i1: false> : tile<8xi1>
  %start = make_token : token
  %held, %taken = loop iter_values(%has = %none, %t0 = %start) : tile<8xi1>, token -> tile<8xi1>, token {  // fault: deadlock
    %true = constant <i1: true> : tile<8xi1>
    %wants = xori %has, %true : tile<8xi1>
    %was, %ta = atomic_cas_tko acquire device %a, %zeros, %ones, %wants token=%t0 : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> tile<8xi32>, token
    %free = cmpi equal %was, %zeros, signed : tile<8xi32> -> tile<8xi1>
    %new = andi %free, %wants : tile<8xi1>
    %now = ori %has, %new : tile<8xi1>
    %bits = exti %now unsigned : tile<8xi1> -> tile<8xi32>
    %count = reduce %bits dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> (%l: tile<i32>, %r: tile<i32>) {
      %s = addi %l, %r : tile<i32>
      yield %s : tile<i32>
    }
    %all = cmpi equal %count, %c8, signed : tile<i32> -> tile<i1>
    if %all {
      break %now, %ta : tile<8xi1>, token
    }
    continue %now, %ta : tile<8xi1>, token
  }
  %t1 = store_ptr_tko release device %a, %zeros token=%taken : tile<8xptr<i32>>, tile<8xi32> -> token
  return
} }

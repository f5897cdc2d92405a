// An address is computed from memory that was never written.
// run: --arg a=uninit:i8:1 --arg b=zeros:i32:4
// fixed-run: --arg a=ones:i8:1 --arg b=zeros:i32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<i8>>, %q: tile<ptr<i32>>) {
  %n, %t = load_ptr_tko weak %p : tile<ptr<i8>> -> tile<i8>, token  // other: uninit
  %c3 = constant <i8: 3> : tile<i8>
  %k = andi %n, %c3 : tile<i8>
  %a = offset %q, %k : tile<ptr<i32>>, tile<i8> -> tile<ptr<i32>>
  %x = constant <i32: 1> : tile<i32>
  %t1 = store_ptr_tko weak %a, %x : tile<ptr<i32>>, tile<i32> -> token  // fault: uninit: the address of an access
  return
} }

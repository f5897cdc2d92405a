// A pointer is less aligned than it is said to be.
// run: --arg zeros:f32:64
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %one = constant <i32: 1> : tile<i32>
  // fixed: %one = constant <i32: 0> : tile<i32>
  %n = ptr_to_int %p : tile<ptr<f32>> -> tile<i64>
  %up = constant <i64: 31> : tile<i64>
  %mask = constant <i64: -32> : tile<i64>
  %n1 = addi %n, %up : tile<i64>
  %n2 = andi %n1, %mask : tile<i64>
  %base = int_to_ptr %n2 : tile<i64> -> tile<ptr<f32>>
  %a = offset %base, %one : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %b = assume div_by<16>, %a : tile<ptr<f32>>  // fault: promise: an address is not divisible by 16
  %x = constant <f32: 1.0> : tile<f32>
  %t1 = store_ptr_tko weak %b, %x : tile<ptr<f32>>, tile<f32> -> token
  return
} }

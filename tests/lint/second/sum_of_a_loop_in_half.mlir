// A loop of a thousand iterations adds up in 16 bits.
cuda_tile.module @m { entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: 1024> : tile<i32>
  // fixed: %n = constant <i32: 4> : tile<i32>
  %zero = constant <f16: 0.0> : tile<f16>
  %sum = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%acc = %zero) -> (tile<f16>) {
    %a = offset %p, %i : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>
    %v, %t = load_ptr_tko weak %a : tile<ptr<f16>> -> tile<f16>, token
    %s = addf %acc, %v rounding<nearest_even> : tile<f16>  // fault: lint
    continue %s : tile<f16>
  }
  %u = store_ptr_tko weak %q, %sum : tile<ptr<f16>>, tile<f16> -> token
  return
} }

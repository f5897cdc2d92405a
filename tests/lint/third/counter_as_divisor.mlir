// A loop divides by its counter, which starts at zero.
cuda_tile.module @m { entry @k(%q: tile<ptr<i32>>) {
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  
  %n = constant <i32: 8> : tile<i32>
  %h = constant <i32: 100> : tile<i32>
  for %i in (%c0 to %n, step %c1) : tile<i32> {
  // fixed: for %i in (%c1 to %n, step %c1) : tile<i32> {
    %v = divi %h, %i signed : tile<i32>  // fault: lint
    %a = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %a, %v : tile<ptr<i32>>, tile<i32> -> token
    continue
  }
  return
} }

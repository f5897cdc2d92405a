// RUN: tilery lint %s
entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  %v, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  print_tko "%f", %v : tile<f32> -> token
  return
}
// =>
// in.mlir:4:12: error: load_ptr_tko: no token orders it after the store_ptr_tko of the same memory [missing-token]
//       %v, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
//                ^^^^^^^^^^^^
// in.mlir:3:8: note: the other access is here
// exit 1
// -----
entry @k(%n: tile<i32>) {
  // lint: ignore[divide-by-zero]
  %zero = constant <i32: 0> : tile<i32>
  // Comments of their own suppress what is on the next line.
  // lint: ignore[divide-by-zero]
  %q = divi %n, %zero signed : tile<i32>
  %r = remi %q, %zero signed : tile<i32>
  print_tko "%d", %r : tile<i32> -> token
  return
}
// =>
// in.mlir:7:8: error: remi: the divisor is zero [divide-by-zero]
//       %r = remi %q, %zero signed : tile<i32>
//            ^^^^
// exit 1

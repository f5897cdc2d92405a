// RUN: tilery check %s
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = addf %x, %x : tile<f64>
}
// =>
// stderr:
// in.mlir:3:13: error: use of value '%x' expects different type than prior uses: '!cuda_tile.tile<f64>' vs '!cuda_tile.tile<f32>'
//       %0 = addf %x, %x : tile<f64>
//                 ^^
// in.mlir:2:53: note: prior use here
// note: for example: %0 = addf %x, %x rounding<zero> flush_to_zero : tile<f32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = absf %q : tile<f32>
}
// =>
// stderr:
// in.mlir:2:13: error: use of undeclared SSA value name
//       %0 = absf %q : tile<f32>
//                 ^^
// note: nothing defines '%q'
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %n = iota : tile<8xi32>
}
// =>
// stderr:
// in.mlir:2:3: error: redefinition of SSA value '%n'
//       %n = iota : tile<8xi32>
//       ^^
// in.mlir:1:38: note: previously defined here
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0:2 = iota : tile<8xi32>
}
// =>
// stderr:
// in.mlir:2:3: error: operation defines 1 results but was provided 2 to bind
//       %0:2 = iota : tile<8xi32>
//       ^^
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = return
}
// =>
// stderr:
// in.mlir:2:3: error: cannot name an operation with no results
//       %0 = return
//       ^^
// exit 1
// -----
entry pluto @k() {}
// =>
// stderr:
// in.mlir:1:7: error: custom op 'cuda_tile.entry' expected valid '@'-identifier for symbol name
//     entry pluto @k() {}
//           ^^^^^
// note: for example: entry @k(%p: tile<ptr<f32>>) optimization_hints=<sm_100 = {num_cta_in_cga = 2}> {
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = for %n in (%n to %n, step %n) : tile<i32> iter_values(%a = %n) -> (tile<i32>) {}
}
// =>
// stderr:
// in.mlir:2:12: error: region entry argument '%n' is already in use
//       %0 = for %n in (%n to %n, step %n) : tile<i32> iter_values(%a = %n) -> (tile<i32>) {}
//                ^^
// in.mlir:1:38: note: previously referenced here
// in.mlir:2:8: error: `for` is missing a valid terminator. `continue` op should have operand types that match the parent loop return types: ('!cuda_tile.tile<i32>'), but found: ()
//       %0 = for %n in (%n to %n, step %n) : tile<i32> iter_values(%a = %n) -> (tile<i32>) {}
//            ^^^
// exit 1

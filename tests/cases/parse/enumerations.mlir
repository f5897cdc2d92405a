// RUN: tilery check %s
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = maxi %n, %n : tile<i32>
}
// =>
// stderr:
// in.mlir:3:20: error: custom op 'cuda_tile.maxi' expected signedness to be one of: {'signed', 'unsigned'}
//       %0 = maxi %n, %n : tile<i32>
//                        ^
// in.mlir:3:20: error: custom op 'cuda_tile.maxi' expected valid keyword
// note: for example: %0 = maxi %n, %n signed : tile<i32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = cmpi lessthan %n, %n, signed : tile<i32> -> tile<i1>
}
// =>
// stderr:
// in.mlir:2:13: error: custom op 'cuda_tile.cmpi' expected 'comparison_predicate' to be one of: {'equal', 'not_equal', 'less_than', 'less_than_or_equal', 'greater_than', 'greater_than_or_equal'}
//       %0 = cmpi lessthan %n, %n, signed : tile<i32> -> tile<i1>
//                 ^^^^^^^^
// note: did you mean 'less_than'?
// note: for example: %0 = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0 = addf %x, %x rounding<full> : tile<f32>
}
// =>
// stderr:
// in.mlir:2:35: error: custom op 'cuda_tile.addf' expected rounding mode to be one of: 'nearest_even', 'zero', 'negative_inf', 'positive_inf', got: 'full'
//       %0 = addf %x, %x rounding<full> : tile<f32>
//                                       ^
// note: for example: %0 = addf %x, %x rounding<zero> flush_to_zero : tile<f32>
// exit 1
// -----
entry @example(%ptr: tile<ptr<f32>>, %n: tile<i32>, %x: tile<f32>, %c: tile<i1>) {
  %0, %1 = load_ptr_tko strong %ptr : tile<ptr<f32>> -> tile<f32>, token
}
// =>
// stderr:
// in.mlir:2:25: error: custom op 'cuda_tile.load_ptr_tko' expected string or keyword containing one of the following enum values for attribute 'memory_ordering_semantics' [weak, relaxed, acquire, release, acq_rel]
//       %0, %1 = load_ptr_tko strong %ptr : tile<ptr<f32>> -> tile<f32>, token
//                             ^^^^^^
// note: for example: %0, %1 = load_ptr_tko weak %ptr, %c, %x : tile<ptr<f32>>, tile<i1>, tile<f32> -> tile<f32>, token
// exit 1

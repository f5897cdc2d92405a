// RUN: tilery check %s
// bitcast of the same width
entry @k(%n: tile<i32>) {
  %0 = bitcast %n : tile<i32> -> tile<f32>
  return
}
// =>
// -----
// bitcast of another width
entry @k(%n: tile<i32>) {
  %0 = bitcast %n : tile<i32> -> tile<f16>
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.bitcast' op types must be equal width, cannot convert '!cuda_tile.tile<i32>' of width 32 to type '!cuda_tile.tile<f16>' of width 16
//       %0 = bitcast %n : tile<i32> -> tile<f16>
//            ^^^^^^^
// exit 1
// -----
// bitcast of a pointer
entry @k(%p: tile<ptr<f32>>) {
  %0 = bitcast %p : tile<ptr<f32>> -> tile<i64>
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.bitcast' op operand #0 must be tile of i1 or i8 or i16 or i32 or i64 or f16 or bf16 or f32 or f64 or tf32 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or fnv8E5M3FNU values, but got '!cuda_tile.tile<ptr<f32>>'
//       %0 = bitcast %p : tile<ptr<f32>> -> tile<i64>
//            ^^^^^^^
// exit 1

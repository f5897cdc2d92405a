// RUN: tilery check %s
entry @k(%x: tile<f32>, %n: tile<i32>) {
  %0 = addf %x, %x rounding<zero> : tile<f32>
  %1 = "cuda_tile.addf"(%n, %n) <{rounding_mode = #cuda_tile.rounding<full>}> : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>
  %2 = exp2 %0 flush_to_zero : tile<f32>
  %3 = ftof %x rounding<negative_inf> : tile<f32> -> tile<f16>
  %4 = iota : tile<512xi8>
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.addf' op operand #0 must be tile of f16 or bf16 or f32 or f64 values, but got '!cuda_tile.tile<i32>'
//       %1 = "cuda_tile.addf"(%n, %n) <{rounding_mode = #cuda_tile.rounding<full>}> : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>
//            ^^^^^^^^^^^^^^^^
// in.mlir:6:8: error: 'cuda_tile.ftof' op invalid rounding mode specified. Only 'nearest_even' and 'zero' are supported for narrowing conversions to standard types
//       %3 = ftof %x rounding<negative_inf> : tile<f32> -> tile<f16>
//            ^^^^
// in.mlir:7:8: error: 'cuda_tile.iota' op the number of elements 512 exceeds the maximum value of element type 'i8'
//       %4 = iota : tile<512xi8>
//            ^^^^
// exit 1

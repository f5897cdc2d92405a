// RUN: tilery check %s
// mmaf of two elements
entry @k() {
  %a = constant <f16: 0.0> : tile<4x8xf16>
  %b = constant <bf16: 0.0> : tile<8x2xbf16>
  %d = constant <f32: 0.0> : tile<4x2xf32>
  %0 = mmaf %a, %b, %d : tile<4x8xf16>, tile<8x2xbf16>, tile<4x2xf32>
  return
}
// =>
// stderr:
// in.mlir:7:8: error: 'cuda_tile.mmaf' op failed to verify that all of {lhs, rhs} have the same element type
//       %0 = mmaf %a, %b, %d : tile<4x8xf16>, tile<8x2xbf16>, tile<4x2xf32>
//            ^^^^
// exit 1

// RUN: tilery dis %s
entry @k() {
  %a = constant <i32: [[1, -2], [3, 4]]> : tile<2x2xi32>
  %b = constant <f32: 0x7FC00001> : tile<4xf32>
  %c = constant <f16: [1.0, 1.0]> : tile<2xf16>
  %d = constant <i1: [true, false, true, true]> : tile<4xi1>
  %e = constant <f8E4M3FN: 448.0> : tile<f8E4M3FN>
  %f = constant <f64: 0.1> : tile<f64>
  %g = constant <bf16: 3.0e38> : tile<bf16>
}
// =>
// entry @k() {
//   %cst_i32 = constant <i32: [[1, -2], [3, 4]]> : tile<2x2xi32>
//   %cst_NaN_f32 = constant <f32: 0x7FC00001> : tile<4xf32>
//   %cst_1_f16 = constant <f16: 1.000000e+00> : tile<2xf16>
//   %cst_i1 = constant <i1: [true, false, true, true]> : tile<4xi1>
//   %cst_448_f8E4M3FN = constant <f8E4M3FN: 4.480000e+02> : tile<f8E4M3FN>
//   %cst_f64 = constant <f64: 1.000000e-01> : tile<f64>
//   %cst_bf16 = constant <bf16: 3.004060e+38> : tile<bf16>
//   return
// }

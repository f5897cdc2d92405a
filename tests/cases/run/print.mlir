// RUN: tilery run %s
// An H200 printed the same.
entry @k() {
  %c = constant <i8: [0, 1, 127, -128]> : tile<4xi8>
  %0 = print_tko "v=%d;", %c : tile<4xi8> -> token
  return
}
// =>
// v=[0, 1, 127, -128];
// -----
entry @k() {
  %c = constant <i8: [1, -128]> : tile<2xi8>
  %0 = print_tko "%u", %c : tile<2xi8> -> token
  return
}
// =>
// [1, 4294967168]
// -----
entry @k() {
  %c = constant <i16: [127, -1]> : tile<2xi16>
  %0 = print_tko "%x", %c : tile<2xi16> -> token
  return
}
// =>
// [7f, ffffffff]
// -----
entry @k() {
  %c = constant <i16: [1, -200]> : tile<2xi16>
  %0 = print_tko "[%5d]", %c : tile<2xi16> -> token
  return
}
// =>
// [[    1,  -200]]
// -----
entry @k() {
  %c = constant <i1: [true, false]> : tile<2xi1>
  %0 = print_tko "%d", %c : tile<2xi1> -> token
  return
}
// =>
// [1, 0]
// -----
entry @k() {
  %c = constant <i64: [-9223372036854775808, 5]> : tile<2xi64>
  %0 = print_tko "%lld", %c : tile<2xi64> -> token
  return
}
// =>
// [-9223372036854775808, 5]
// -----
entry @k() {
  %c = constant <i64: 7> : tile<i64>
  %0 = print_tko "%ld %%", %c : tile<i64> -> token
  return
}
// =>
// 7 %
// -----
entry @k() {
  %c = constant <i32: [100, 37]> : tile<2xi32>
  %0 = print_tko "%c", %c : tile<2xi32> -> token
  return
}
// =>
// [d, %]
// -----
entry @k() {
  %c = constant <i8: [127]> : tile<1xi8>
  %0 = print_tko "%d", %c : tile<1xi8> -> token
  return
}
// =>
// [127]
// -----
entry @k() {
  %c = constant <i32: [[0, 1], [2, 3]]> : tile<2x2xi32>
  %0 = print_tko "%d", %c : tile<2x2xi32> -> token
  return
}
// =>
// [[0, 1], [2, 3]]
// -----
entry @k() {
  %c = constant <f16: [0x0000, 0x8000, 0x3e00, 0xc080, 0x7bff, 0x0001, 0x7c00, 0x7e00]> : tile<8xf16>
  %0 = print_tko "%f", %c : tile<8xf16> -> token
  return
}
// =>
// [0.000000, -0.000000, 1.500000, -2.250000, 65504.000000, 0.000000, inf, nan]
// -----
entry @k() {
  %c = constant <f16: [0x3e00, 0x0001]> : tile<2xf16>
  %0 = print_tko "%e", %c : tile<2xf16> -> token
  return
}
// =>
// [1.500000e+00, 5.960464e-08]
// -----
entry @k() {
  %c = constant <f32: [1.5, -2.25]> : tile<2xf32>
  %0 = print_tko "%g", %c : tile<2xf32> -> token
  return
}
// =>
// [1.5, -2.25]
// -----
entry @k() {
  %c = constant <f16: [0x0000, 0x8000, 0x3e00, 0xc080, 0x7bff, 0x0001, 0x7c00, 0x7e00]> : tile<8xf16>
  %0 = print_tko "%+08.3f", %c : tile<8xf16> -> token
  return
}
// =>
// [+000.000, -000.000, +001.500, -002.250, +65504.000, +000.000,     +inf,     +nan]
// -----
entry @k() {
  %c = constant <f16: [0x0000, 0x8000, 0x3e00, 0xc080, 0x7bff, 0x0001, 0x7c00, 0x7e00]> : tile<8xf16>
  %0 = print_tko "%a", %c : tile<8xf16> -> token
  return
}
// =>
// [0x0p+0, -0x0p+0, 0x1.8p+0, -0x1.2p+1, 0x1.ffcp+15, 0x1p-24, inf, nan]
// -----
entry @k() {
  %c = constant <f64: [0x0000000000000001]> : tile<1xf64>
  %0 = print_tko "%a", %c : tile<1xf64> -> token
  return
}
// =>
// [0x0.0000000000001p-1022]
// -----
entry @k() {
  %c = constant <f8E4M3FN: [0x44, 0x01]> : tile<2xf8E4M3FN>
  %0 = print_tko "%g", %c : tile<2xf8E4M3FN> -> token
  return
}
// =>
// [3, 0.00195312]

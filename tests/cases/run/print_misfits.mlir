// RUN: tilery run %s
// Formats that do not fit their value. An H200 printed the same.
entry @k() {
  %c = constant <i64: [1, 9223372036854775807]> : tile<2xi64>
  %0 = print_tko "%d", %c : tile<2xi64> -> token
  return
}
// =>
// [1, 0]
// -----
entry @k() {
  %c = constant <i16: [0, 1, 32767, -32768]> : tile<4xi16>
  %0 = print_tko "%lld", %c : tile<4xi16> -> token
  return
}
// =>
// [4294967296, -140737488322561, 0, 0]
// -----
entry @k() {
  %c = constant <i8: [0, 1, 127, -128]> : tile<4xi8>
  %0 = print_tko "%f", %c : tile<4xi8> -> token
  return
}
// =>
// [0.000000, -nan, 0.000000, 0.000000]
// -----
entry @k() {
  %c = constant <f32: [1.5, -2.25]> : tile<2xf32>
  %0 = print_tko "%d", %c : tile<2xf32> -> token
  return
}
// =>
// [0, 1073217536]
// -----
entry @k() {
  %c = constant <f32: [0xffc00000, 0xff800001]> : tile<2xf32>
  %0 = print_tko "%f", %c : tile<2xf32> -> token
  return
}
// =>
// [-nan, -nan]
// -----
entry @k() {
  %c = constant <f16: [0xfe00, 0xfc01]> : tile<2xf16>
  %0 = print_tko "%f", %c : tile<2xf16> -> token
  return
}
// =>
// [nan, nan]
// -----
entry @k() {
  %c = constant <bf16: [0xffc0, 0xff81]> : tile<2xbf16>
  %0 = print_tko "%f", %c : tile<2xbf16> -> token
  return
}
// =>
// [-nan, -nan]
// -----
entry @k() {
  %c = constant <i32: [0, 1]> : tile<2xi32>
  %0 = print_tko "%zu", %c : tile<2xi32> -> token
  return
}
// =>
// [%zu, %zu]
// -----
entry @k() {
  %c = constant <i32: [1, 2]> : tile<2xi32>
  %0 = print_tko "ab\00cd %d", %c : tile<2xi32> -> token
  return
}
// =>
// ab[1, 2]
// -----
entry @k() {
  %c = constant <i32: 7> : tile<i32>
  %0 = print_tko "%z%%3", %c : tile<i32> -> token
  return
}
// =>
// %z%%3
// -----
entry @k() {
  %c = constant <i8: [7, -8, -1, 12]> : tile<4xi8>
  %t = trunci %c : tile<4xi8> -> tile<4xi4>
  %0 = print_tko "%d %x", %t, %t : tile<4xi4>, tile<4xi4> -> token
  return
}
// =>
// [7, 8, 15, 12] [7, 8, f, c]
// -----
entry @k() {
  %a = constant <i32: 7> : tile<i32>
  %b = constant <f32: 0.5> : tile<f32>
  %c = iota : tile<4xi32>
  %0 = print_tko "a=%d b=%f c=%d 100%%!\0A", %a, %b, %c : tile<i32>, tile<f32>, tile<4xi32> -> token
  return
}
// =>
// a=7 b=0.500000 c=[0, 1, 2, 3] 100%!
// -----
entry @k() {
  %c = constant <i64: [5, 0]> : tile<2xi64>
  %0 = print_tko "%s", %c : tile<2xi64> -> token
  return
}
// =>
// stderr:
// in.mlir:3:8: error: print_tko: address 0x5 is outside every buffer: there are none
//       %0 = print_tko "%s", %c : tile<2xi64> -> token
//            ^^^^^^^^^
// note: in tile block (0, 0, 0)
// exit 1

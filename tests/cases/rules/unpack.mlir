// RUN: tilery check %s
// unpack
entry @k() {
  %a = constant <i8: 0> : tile<64xi8>
  %0 = unpack %a : tile<64xi8> -> tile<32xf16>
  return
}
// =>
// -----
// unpack to four bits
entry @k() {
  %a = constant <i8: 0> : tile<64xi8>
  %0 = unpack %a : tile<64xi8> -> tile<128xf4E2M1FN>
  return
}
// =>
// -----
// unpack to four bits, misspelt
entry @k() {
  %a = constant <i8: 0> : tile<64xi8>
  %0 = unpack %a : tile<64xi8> -> tile<128xF4E2M1FN>
  return
}
// =>
// stderr:
// in.mlir:4:52: error: custom op 'cuda_tile.unpack' unknown type: F4E2M1FN
//       %0 = unpack %a : tile<64xi8> -> tile<128xF4E2M1FN>
//                                                        ^
// note: did you mean 'f4E2M1FN'?
// note: for example: %0 = unpack %a : tile<32xi8> -> tile<64xf4E2M1FN>
// exit 1
// -----
// unpack to another size
entry @k() {
  %a = constant <i8: 0> : tile<64xi8>
  %0 = unpack %a : tile<64xi8> -> tile<64xf16>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.unpack' op expects source and result to have the same size in bytes, but got source tile size 64 bytes and result tile size 128 bytes
//       %0 = unpack %a : tile<64xi8> -> tile<64xf16>
//            ^^^^^^
// exit 1
// -----
// unpack has one dimension
entry @k() {
  %a = constant <i8: 0> : tile<8x8xi8>
  %0 = unpack %a : tile<8x8xi8> -> tile<8x4xf16>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.unpack' op expects source and result to be rank-1 tiles
//       %0 = unpack %a : tile<8x8xi8> -> tile<8x4xf16>
//            ^^^^^^
// exit 1

// RUN: tilery check %s
// pack of floats
entry @k() {
  %a = constant <f16: 0.0> : tile<64xf16>
  %0 = pack %a : tile<64xf16> -> tile<128xi8>
  return
}
// =>
// -----
// pack of four bits
entry @k() {
  %a = constant <f4E2M1FN: 0.0> : tile<64xf4E2M1FN>
  %0 = pack %a : tile<64xf4E2M1FN> -> tile<32xi8>
  return
}
// =>
// -----
// pack of another size
entry @k() {
  %a = constant <f16: 0.0> : tile<64xf16>
  %0 = pack %a : tile<64xf16> -> tile<64xi8>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.pack' op expects source and result to have the same size in bytes, but got source tile size 128 bytes and result tile size 64 bytes
//       %0 = pack %a : tile<64xf16> -> tile<64xi8>
//            ^^^^
// exit 1
// -----
// pack has one dimension
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = pack %m : tile<4x8xf32> -> tile<4x32xi8>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.pack' op expects source and result to be rank-1 tiles
//       %0 = pack %m : tile<4x8xf32> -> tile<4x32xi8>
//            ^^^^
// exit 1

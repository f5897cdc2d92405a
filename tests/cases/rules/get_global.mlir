// RUN: tilery check %s
// get_global of the element's type
global @val <f32: [0.5, 1.5]> : tile<2xf32>
entry @k() {
  %0 = get_global @val : tile<ptr<f32>>
  return
}
// =>
// -----
// get_global of another type
global @val <f32: [0.5, 1.5]> : tile<2xf32>
entry @k() {
  %0 = get_global @val : tile<ptr<f16>>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.get_global' op pointee type of result type '!cuda_tile.ptr<f16>' does not match type 'f32' of the global @val
//       %0 = get_global @val : tile<ptr<f16>>
//            ^^^^^^^^^^
// exit 1
// -----
// get_global of nothing
entry @k() {
  %0 = get_global @none : tile<ptr<f32>>
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.get_global' op 'none' does not reference a valid global
//       %0 = get_global @none : tile<ptr<f32>>
//            ^^^^^^^^^^
// exit 1

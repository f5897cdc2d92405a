// RUN: tilery check %s
// reduce removes the dimension
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = reduce %m dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32>
  (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  return
}
// =>
// -----
// reduce to the wrong dimension
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = reduce %m dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<4xf32>
  (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.reduce' op inferred type(s) '!cuda_tile.tile<8xf32>' are incompatible with return type(s) of operation '!cuda_tile.tile<4xf32>'
//       %0 = reduce %m dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<4xf32>
//            ^^^^^^
// error: 'cuda_tile.reduce' op failed to infer returned types
// exit 1
// -----
// reduce with an argument that is no scalar
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = reduce %m dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32>
  (%l: tile<2xf32>, %r: tile<f32>) {
    yield %r : tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.reduce' op expect 0-rank tile type at index: 0 but got: '!cuda_tile.tile<2xf32>'
//       %0 = reduce %m dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32>
//            ^^^^^^
// exit 1
// -----
// reduce needs an identity per operand
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = reduce %m dim=0 identities=[] : tile<4x8xf32> -> tile<8xf32>
  (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.reduce' op expect identities to match the number of operands but got: 1 operands and 0 identities
//       %0 = reduce %m dim=0 identities=[] : tile<4x8xf32> -> tile<8xf32>
//            ^^^^^^
// exit 1
// -----
// reduce needs an identity of the element
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = reduce %m dim=0 identities=[0 : i32] : tile<4x8xf32> -> tile<8xf32>
  (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.reduce' op expect same type for operand at index: 0 and identity at index: 0 but got: 'f32' and 'i32'
//       %0 = reduce %m dim=0 identities=[0 : i32] : tile<4x8xf32> -> tile<8xf32>
//            ^^^^^^
// exit 1
// -----
// reduce of two tiles of one shape
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0, %1 = reduce %m, %m dim=0 identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<4x8xf32> -> tile<8xf32>, tile<8xf32>
  (%a: tile<f32>, %b: tile<f32>, %d: tile<f32>, %e: tile<f32>) {
    yield %a, %d : tile<f32>, tile<f32>
  }
  return
}
// =>
// -----
// reduce of tiles of two shapes
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %0, %1 = reduce %m, %a dim=0 identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<2x4xf32> -> tile<8xf32>, tile<4xf32>
  (%q: tile<f32>, %b: tile<f32>, %d: tile<f32>, %e: tile<f32>) {
    yield %q, %d : tile<f32>, tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:5:12: error: 'cuda_tile.reduce' op requires the same shape for all operands
//       %0, %1 = reduce %m, %a dim=0 identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<2x4xf32> -> tile<8xf32>, tile<4xf32>
//                ^^^^^^
// exit 1
// -----
// reduce has a result per operand
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = reduce %m, %m dim=0 identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<4x8xf32> -> tile<8xf32>
  (%a: tile<f32>, %b: tile<f32>, %d: tile<f32>, %e: tile<f32>) {
    yield %a, %d : tile<f32>, tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.reduce' op expect same number of operands and results
//       %0 = reduce %m, %m dim=0 identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<4x8xf32> -> tile<8xf32>
//            ^^^^^^
// exit 1
// -----
// reduce yields a value per operand
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0, %1 = reduce %m, %m dim=0 identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<4x8xf32> -> tile<8xf32>, tile<8xf32>
  (%a: tile<f32>, %b: tile<f32>, %d: tile<f32>, %e: tile<f32>) {
    yield %a : tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:4:12: error: 'cuda_tile.reduce' op expect number of terminators operands (1) to match number of operands (2)
//       %0, %1 = reduce %m, %m dim=0 identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<4x8xf32> -> tile<8xf32>, tile<8xf32>
//                ^^^^^^
// exit 1

// RUN: tilery check %s
// scan of tiles of two shapes
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %a = constant <f32: 0.0> : tile<2x4xf32>
  %0, %1 = scan %m, %a dim=0 reverse=false identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<2x4xf32> -> tile<4x8xf32>, tile<2x4xf32>
  (%q: tile<f32>, %b: tile<f32>, %d: tile<f32>, %e: tile<f32>) {
    yield %q, %d : tile<f32>, tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:6:12: error: 'cuda_tile.scan' op requires the same shape for all operands
//       %0, %1 = scan %m, %a dim=0 reverse=false identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<2x4xf32> -> tile<4x8xf32>, tile<2x4xf32>
//                ^^^^
// exit 1
// -----
// scan needs an identity per operand
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = scan %m dim=1 reverse=false identities=[] : tile<4x8xf32> -> tile<4x8xf32>
  (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.scan' op expect identities to match the number of operands but got: 1 operands and 0 identities
//       %0 = scan %m dim=1 reverse=false identities=[] : tile<4x8xf32> -> tile<4x8xf32>
//            ^^^^
// exit 1
// -----
// scan keeps the type
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = scan %m dim=1 reverse=false identities=[1.0 : f32] : tile<4x8xf32> -> tile<4x8xf32>
  (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  return
}
// =>
// -----
// scan in reverse
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = scan %m dim=1 reverse=true identities=[1.0 : f32] : tile<4x8xf32> -> tile<4x8xf32>
  (%l: tile<f32>, %r: tile<f32>) {
    %s = addf %l, %r : tile<f32>
    yield %s : tile<f32>
  }
  return
}
// =>
// -----
// scan of two tiles
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0, %1 = scan %m, %m dim=0 reverse=false identities=[0.0 : f32, 0.0 : f32] : tile<4x8xf32>, tile<4x8xf32> -> tile<4x8xf32>, tile<4x8xf32>
  (%a: tile<f32>, %b: tile<f32>, %d: tile<f32>, %e: tile<f32>) {
    yield %a, %d : tile<f32>, tile<f32>
  }
  return
}
// =>
// -----
// scan of scalars only
entry @k() {
  %m = constant <f32: 0.0> : tile<4x8xf32>
  %0 = scan %m dim=1 reverse=false identities=[1.0 : f32] : tile<4x8xf32> -> tile<4x8xf32>
  (%l: tile<2xf32>, %r: tile<f32>) {
    yield %r : tile<f32>
  }
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.scan' op expect 0-rank tile type at index: 0 but got: '!cuda_tile.tile<2xf32>'
//       %0 = scan %m dim=1 reverse=false identities=[1.0 : f32] : tile<4x8xf32> -> tile<4x8xf32>
//            ^^^^
// exit 1

// RUN: tilery check --input documented %s
// The tools refuse this, and so do the documents.
entry @k(%p: tile<ptr<f32>>, %h: tile<ptr<f16>>, %n: tile<i32>, %b: tile<i8>, %q: tile<ptr<i32>>) {
  %a = assume div_by<3>, %n : tile<i32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.assume' op 'cuda_tile.div_by' divisor must be a power of 2
//       %a = assume div_by<3>, %n : tile<i32>
//            ^^^^^^
// exit 1

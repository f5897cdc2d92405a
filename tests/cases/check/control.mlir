// RUN: tilery check %s
entry @k(%c: tile<i1>, %n: tile<i32>) {
  %0 = if %c -> (tile<i32>) {
    yield %n : tile<i32>
  } else {
    yield %c : tile<i1>
  }
  for %i in (%n to %n, step %n) : tile<i32> {
    if %c {
      return
    }
  }
  %1 = get_global @missing : tile<ptr<f32>>
  return
}
entry @k() {
  return
}
// =>
// stderr:
// in.mlir:3:8: error: 'cuda_tile.if' op type does not match yield type, else branch yields '!cuda_tile.tile<i1>' but op result type is '!cuda_tile.tile<i32>'
//       %0 = if %c -> (tile<i32>) {
//            ^^
// in.mlir:10:7: error: 'cuda_tile.return' op must be used within a cuda_tile.entry, cuda_tile.if, or cuda_tile.loop operation
//           return
//           ^^^^^^
// in.mlir:16:1: error: redefinition of symbol named 'k'
//     entry @k() {
//     ^^^^^
// in.mlir:2:1: note: see existing symbol definition here
// in.mlir:13:8: error: 'cuda_tile.get_global' op 'missing' does not reference a valid global
//       %1 = get_global @missing : tile<ptr<f32>>
//            ^^^^^^^^^^
// exit 1

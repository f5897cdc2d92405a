// RUN: tilery check %s
// select of scalars
entry @k(%n: tile<i32>, %c: tile<i1>) {
  %0 = select %c, %n, %n : tile<i1>, tile<i32>
  return
}
// =>
// -----
// select needs the same shape
entry @k(%c: tile<i1>) {
  %v = iota : tile<8xi32>
  %0 = select %c, %v, %v : tile<i1>, tile<8xi32>
  return
}
// =>
// stderr:
// in.mlir:4:8: error: 'cuda_tile.select' op failed to verify that all of {cond, val_if_true, val_if_false, result} have same shape
//       %0 = select %c, %v, %v : tile<i1>, tile<8xi32>
//            ^^^^^^
// exit 1

// RUN: tilery check %s
// RUN: tilery check --version 13.1 %s
entry @k(%x: tile<f32>) {
  %0 = atan2 %x, %x : tile<f32>
}
// =>
// $ tilery check %s
// $ tilery check --version 13.1 %s
// stderr:
// in.mlir: error: legal in 13.2, not in 13.1: operation 'cuda_tile.atan2' is not available in bytecode version 13.1
// note: it needs 13.2
// note: operation: atan2 in entry @k
// exit 1

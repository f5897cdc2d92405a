// RUN: tilery check %s
// RUN: tilery check --hints warn %s
// RUN: tilery check --hints error %s
entry @k() optimization_hints=<sm_75 = {latency = 3}> {}
// =>
// $ tilery check %s
// $ tilery check --hints warn %s
// stderr:
// in.mlir:4:1: warning: unknown hint key sm_75
//     entry @k() optimization_hints=<sm_75 = {latency = 3}> {}
//     ^^^^^
// $ tilery check --hints error %s
// stderr:
// in.mlir:4:1: error: 'cuda_tile.entry' op Optimization hints verification failed
//     entry @k() optimization_hints=<sm_75 = {latency = 3}> {}
//     ^^^^^
// in.mlir:4:1: warning: unknown hint key sm_75
//     entry @k() optimization_hints=<sm_75 = {latency = 3}> {}
//     ^^^^^
// exit 1

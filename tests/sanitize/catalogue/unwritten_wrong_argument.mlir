// The result is stored to the input, and the output is never written.
// run: --arg a=zeros:f32:1 --arg out=output:f32:1
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {  // fault: unwritten: any element of argument 'out' // cause: no operation stores to it
  %x = constant <f32: 2.5> : tile<f32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  // fixed: %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
  return
} }

// Only every other tile block stores its part of the output.
// run: --grid 4 --arg out=output:f32:4
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  // fixed: %c1 = constant <i32: 0> : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %x = constant <f32: 2.5> : tile<f32>
  %odd = andi %b, %c1 : tile<i32>
  %even = cmpi equal %odd, %c0, signed : tile<i32> -> tile<i1>
  if %even {
    %at = offset %p, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %t = store_ptr_tko weak %at, %x : tile<ptr<f32>>, tile<f32> -> token  // fault: unwritten: 2 of 4 // cause: tile block (1, 0, 0) would store to element [1], but does not execute
  }
  return
} }

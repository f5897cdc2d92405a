// Tiles are visited in groups of four rows. Of the last group there are two rows only, which is forgotten.
// run: --grid 2 --arg out=output:f32:768
cuda_tile.module @m { entry @k(%out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c4 = constant <i32: 4> : tile<i32>
  %c6 = constant <i32: 6> : tile<i32>
  %c8 = constant <i32: 8> : tile<i32>
  %tiles = constant <i32: 12> : tile<i32>
  %v = make_tensor_view %out, shape = [48, 16], strides = [16, 1] : tensor_view<48x16xf32, strides=[16,1]>
  %w = make_partition_view %v : partition_view<tile=(8x8), tensor_view<48x16xf32, strides=[16,1]>>
  %one = constant <f32: 1.0> : tile<8x8xf32>
  for %t in (%b to %tiles, step %n) : tile<i32> {
    %group = divi %t, %c8 signed : tile<i32>
    %first = muli %group, %c4 : tile<i32>
    %rest = subi %c6, %first : tile<i32>
    %rows = maxi %rest, %c4 signed : tile<i32>
    // fixed: %rows = mini %rest, %c4 signed : tile<i32>
    %inside = remi %t, %c8 signed : tile<i32>
    %r = remi %inside, %rows signed : tile<i32>
    %row = addi %first, %r : tile<i32>
    %column = divi %inside, %rows signed : tile<i32>
    %done = store_view_tko weak %one, %w[%row, %column] : tile<8x8xf32>, partition_view<tile=(8x8), tensor_view<48x16xf32, strides=[16,1]>>, tile<i32> -> token  // fault: outside
  }
  return
} }

// The mask of a store leaves out the last element of the output.
// run: --grid 2 --arg n=i32:6 --arg out=output:f32:6
cuda_tile.module @m { entry @k(%n: tile<i32>, %p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c4 = constant <i32: 4> : tile<i32>
  %x = constant <f32: 2.5> : tile<4xf32>
  %lane = iota : tile<4xi32>
  %start = muli %b, %c4 : tile<i32>
  %s1 = reshape %start : tile<i32> -> tile<1xi32>
  %s4 = broadcast %s1 : tile<1xi32> -> tile<4xi32>
  %i = addi %s4, %lane : tile<4xi32>
  %last = subi %n, %c1 : tile<i32>
  // fixed: %last = addi %n, %c1 : tile<i32>
  %l1 = reshape %last : tile<i32> -> tile<1xi32>
  %l4 = broadcast %l1 : tile<1xi32> -> tile<4xi32>
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %n4 = broadcast %n1 : tile<1xi32> -> tile<4xi32>
  %inside = cmpi less_than %i, %n4, signed : tile<4xi32> -> tile<4xi1>
  %before = cmpi less_than %i, %l4, signed : tile<4xi32> -> tile<4xi1>
  %mask = andi %inside, %before : tile<4xi1>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p4 = broadcast %p1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %at = offset %p4, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %t = store_ptr_tko weak %at, %x, %mask : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token  // fault: unwritten: some elements of argument 'out' // cause: its mask leaves it out
  return
} }

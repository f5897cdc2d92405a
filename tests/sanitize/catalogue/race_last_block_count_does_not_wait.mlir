// A tile block counts itself before its result is stored.
// run: --grid 6 --arg zeros:f32:8 --arg zeros:i32:1 --arg zeros:f32:1
cuda_tile.module @m { entry @k(%part: tile<ptr<f32>>, %count: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %n, %ny, %nz = get_num_tile_blocks : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %x = constant <f32: 0.5> : tile<f32>
  %zero = constant <f32: 0.0> : tile<f32>
  %p = offset %part, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %t1 = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token  // other: race
  %old, %t2 = atomic_rmw_tko acq_rel device %count, add, %c1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  // fixed: %old, %t2 = atomic_rmw_tko acq_rel device %count, add, %c1 token=%t1 : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  %next = addi %old, %c1 : tile<i32>
  %is_last = cmpi equal %next, %n, signed : tile<i32> -> tile<i1>
  if %is_last {
    %sum = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%acc = %zero) -> (tile<f32>) {
      %q = offset %part, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %v, %t3 = load_ptr_tko weak %q token=%t2 : tile<ptr<f32>> -> tile<f32>, token  // fault: race: two tile blocks // cause: it is released by atomic_rmw_tko, but no token leads to that from the other access
      %s = addf %acc, %v : tile<f32>
      continue %s : tile<f32>
    }
    %t4 = store_ptr_tko weak %out, %sum : tile<ptr<f32>>, tile<f32> -> token
  }
  return
} }

// Adds up an array: each tile block stores the sum of its part, and the last one to finish adds up these sums.
// It has a race on purpose: the last tile block is not ordered after the stores of the others.
cuda_tile.module @sums {
  entry @sum(%x: tile<ptr<f32>>, %part: tile<ptr<f32>>, %count: tile<ptr<i32>>, %out: tile<ptr<f32>>) {
    %b, %by, %bz = get_tile_block_id : tile<i32>
    %n, %ny, %nz = get_num_tile_blocks : tile<i32>
    %c0 = constant <i32: 0> : tile<i32>
    %c1 = constant <i32: 1> : tile<i32>
    %c16 = constant <i32: 16> : tile<i32>
    %zero = constant <f32: 0.0> : tile<f32>

    // The sum of this tile block's sixteen elements.
    %start = muli %b, %c16 : tile<i32>
    %base = offset %x, %start : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %base1 = reshape %base : tile<ptr<f32>> -> tile<1xptr<f32>>
    %base16 = broadcast %base1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
    %i = iota : tile<16xi32>
    %xs = offset %base16, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
    %v, %tv = load_ptr_tko weak %xs : tile<16xptr<f32>> -> tile<16xf32>, token
    %sum = reduce %v dim = 0 identities = [0.0 : f32] : tile<16xf32> -> tile<f32> (%a: tile<f32>, %e: tile<f32>) {
      %s = addf %a, %e : tile<f32>
      yield %s : tile<f32>
    }
    %mine = offset %part, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %stored = store_ptr_tko weak %mine, %sum : tile<ptr<f32>>, tile<f32> -> token

    // Count the tile blocks that have finished.
    %old, %counted = atomic_rmw_tko relaxed device %count, add, %c1 token = %stored
        : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %number = addi %old, %c1 : tile<i32>
    %is_last = cmpi equal %number, %n, signed : tile<i32> -> tile<i1>
    if %is_last {
      %total = for %k in (%c0 to %n, step %c1) : tile<i32> iter_values(%acc = %zero) -> (tile<f32>) {
        %p = offset %part, %k : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
        %w, %tw = load_ptr_tko weak %p token = %counted : tile<ptr<f32>> -> tile<f32>, token
        %next = addf %acc, %w : tile<f32>
        continue %next : tile<f32>
      }
      %done = store_ptr_tko weak %out, %total : tile<ptr<f32>>, tile<f32> -> token
    }
    return
  }
}

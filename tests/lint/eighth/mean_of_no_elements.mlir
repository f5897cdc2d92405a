// The mean of what comes before a row is a sum divided by its number, which is zero for the first row.
// run: --grid 2 --arg ones:f32:2 --arg zeros:f32:2
cuda_tile.module @m { entry @k(%x: tile<ptr<f32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %nothing = constant <f32: 0.0> : tile<f32>
  %sum = for %i in (%c0 to %b, step %c1) : tile<i32> iter_values(%s = %nothing) -> (tile<f32>) {
    %a = offset %x, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %v, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
    %next = addf %s, %v : tile<f32>
    continue %next : tile<f32>
  }
  %number = maxi %b, %c0 signed : tile<i32>
  // fixed: %number = maxi %b, %c1 signed : tile<i32>
  %count = itof %number signed : tile<i32> -> tile<f32>
  %mean = divf %sum, %count : tile<f32>  // fault: nan
  %to = offset %out, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %u = store_ptr_tko weak %to, %mean : tile<ptr<f32>>, tile<f32> -> token
  return
} }

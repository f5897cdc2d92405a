"""Programs written for a GPU, without one: the parts that `tilery.cutile` and `tilery.triton` share."""

"""Is a module legal, and what is wrong with it?"""

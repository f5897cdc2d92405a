"""Runs of kernels, in the order in which the files import each other:

    form        the parameters of kernels, and arguments to start with
    record      what happens in a launch: accesses, values, tokens
    numbers     values and arrays as JSON
    execute     one launch, from the fields of a request
    job         the child process: reads a job, writes an answer
    child       starts a child process with limits, and can stop it

Only `form` and `child` work without NumPy.
"""

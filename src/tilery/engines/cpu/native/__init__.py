"""The runtime of the fast CPU engine: the compiler in a child process, loaded objects, threads, and jobs for them."""

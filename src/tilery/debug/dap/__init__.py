"""The Debug Adapter Protocol, in the order in which the files import each other:

    messages       requests, responses and events as JSON, with a header
    tree           what an editor unfolds: scopes, variables, tiles, their slices and statistics
    stops          the breakpoints of an editor, which outlive a launch
    server         the connection to an editor: a handler for each request

A tile block is a thread. The program runs in the main thread; while it does, another thread reads requests.
"""

"""The verbs for people who write text: format it, and serve editors."""

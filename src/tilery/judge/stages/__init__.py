"""The stages that judge a submission, one module each."""

"""The former home of the reference engine, which is now `tilery.engines.reference`."""

"""The abstract machine: executes instructions, emits ops, folds constants, materializes objects, unwinds exceptions."""

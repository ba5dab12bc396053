"""The abstract machine: steps instructions, emits ops, folds constants, materializes objects, unwinds exceptions."""

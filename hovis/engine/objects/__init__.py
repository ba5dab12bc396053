"""Objects: classes, instances, functions, attributes and descriptors, finalizers."""

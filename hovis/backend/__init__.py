"""F4: from a Function back to a Python function (``assemble``), with the way in (``entry``) and tracebacks (``load``)."""

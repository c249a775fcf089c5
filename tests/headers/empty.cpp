// A library needs a source, also where a folder has no header.

"""Request bodies as a provider takes them, alone or many in one file: four dialects, one reader."""

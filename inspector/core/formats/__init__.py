"""One transcript format a file. `detect` asks each how sure it is; `FORMATS` is the one list that names them."""

"""One module per analysis; they are found by walking this package."""

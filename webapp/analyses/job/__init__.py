"""One module an analysis; all of them are found by walking this package."""

"""Every rule, imported so that it registers itself."""

"""Catalogues of translations: which messages there are, by area of the product, and whether each is
translated well.
"""

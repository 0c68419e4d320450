"""The page of people: who they are, what they may do and see, when they were last here, and their
tokens.
"""

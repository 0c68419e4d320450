SENTENCES: tuple[tuple[str,str],...] = ()
STAND_INS = frozenset()

from webapp.analyses.document import Column, Document, Table, Verdict
from webapp.analyses.presentation import blocks

COLUMNS = (Column("part", "Part"), Column("used", "Used", "bytes"), Column("means", "Meaning"))


def test_texts_of_a_row_are_below_its_first_cell_on_narrow_screens_and_unknown_ones_are_not():
    table = Table("parts", "Parts", COLUMNS, (("heap", 5, "objects"), ("other", 6, None)))
    ((_, shown),) = blocks(Document(Verdict("ok", "Nothing."), (table,)))
    below = [[(column.key, cell.text) for column, cell in row.below] for row in shown.rows]
    assert below == [[("means", "objects")], []]
    assert [("medium" in column.css) for column in shown.columns] == [False, False, True]

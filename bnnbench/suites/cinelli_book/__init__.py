"""The book's one-dimensional toy and its comparison on the UCI sets (sections 4.7.1 and 4.7.3).

Cinelli, Marins, Barros da Silva and Netto, "Variational Methods for Machine Learning with
Applications to Deep Networks", Springer 2021. Imports only `discovery`; `page` adds the book's
tables, figures and claims of section 4.7 to a report.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="cinelli_book",
    summary="the book's toy example and UCI comparison, with run times and claims",
    minutes=(9, 43),
    sweeps=(
        Sweep("toy_1d"),
        Sweep("book_uci", "dataset=boston,concrete,energy,yacht", sizes=("small",)),
        Sweep("book_uci", sizes=("full",)),
    ),
)

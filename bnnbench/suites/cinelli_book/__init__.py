"""The book's one-dimensional toy and its comparison on the UCI sets (sections 4.7.1 and 4.7.3).

Cinelli, Marins, Barros da Silva and Netto, "Variational Methods for Machine Learning with
Applications to Deep Networks", Springer 2021. Imports nothing but `discovery`; `page` adds to a
report what the book prints beside our numbers: its tables and figures of section 4.7, and its
claims, checked.
"""

from bnnbench.discovery import Suite, Sweep

SUITE = Suite(
    name="cinelli_book",
    summary="the book's toy and UCI comparison, its times and claims (small: ten minutes, "
    "whole: an hour)",
    sweeps=(
        Sweep("toy_1d"),
        Sweep("book_uci", "dataset=boston,concrete,energy,yacht", sizes=("small",)),
        Sweep("book_uci", sizes=("full",)),
    ),
)

"""Cells in: workbooks and catalogs become rows that know their cell, and rows become a Case. Nothing is ever written here."""

"""Sequences of different lengths, and running sums."""

from case import Case, Input

TWO = Input(values=[1, 3])
THREE = Input(values=[2, 1, 2])
USE = {"use_sequence_length": True}

CASES = [
    Case("SequenceMask", [(3, 2, 2)]),
    Case("SequenceMask", [(3, 2, 2), TWO], {**USE, "value": -1.5}),
    Case("SequenceMask", [(3, 2), Input(values=[1.5, 0])], USE, note="fraction"),
    Case("SequenceMask", [(3, 2), Input(values=[1, 9], dtype="int32")], USE),
    Case("SequenceMask", [(3, 2, 2), THREE], {**USE, "axis": 1, "value": 2.0}),
    Case("SequenceMask", [Input((3, 2), 0, 9, "int", "int32"),
                          Input(values=[1, 2], dtype="int32")], {**USE, "value": -1.5}),
    Case("SequenceLast", [(3, 2, 2)]),
    Case("SequenceLast", [(3, 2, 2)], {"axis": 1}),
    Case("SequenceLast", [(3, 2, 2), TWO], USE),
    Case("SequenceLast", [(3, 2), TWO], USE),
    Case("SequenceLast", [(3, 2, 2), THREE], {**USE, "axis": 1}),
    Case("SequenceReverse", [(3, 2, 2)]),
    Case("SequenceReverse", [(3, 2, 2), TWO], USE),
    Case("SequenceReverse", [(3, 2), Input(values=[2, 0])], USE),
    Case("cumsum", [(2, 3)]),
    Case("cumsum", [(2, 3)], {"axis": 0}),
    Case("cumsum", [(2, 3)], {"axis": 1}),
    Case("cumsum", [Input((2, 3), 0, 9, "int", "int8")], {"axis": 1}),
    Case("cumsum", [Input((2, 3), 0, 9, "int", "int32")], {"axis": 0, "dtype": "float64"}),
]  # fmt: skip

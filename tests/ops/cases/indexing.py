"""Look-ups by index and by coordinates, and numbers that are positions."""

from case import Case, Input

OUTSIDE = Input(values=[-1, -4, 0, 2, 5])
FRACTIONS = Input(values=[-0.5, -1.5, 1.9, 2.9])
PLACES = Input(values=[[0, 1], [2, 0]])

CASES = [
    *[Case("take", [(3, 2), each], {"mode": mode}, note=note)
      for mode in ("clip", "wrap")
      for each, note in ((OUTSIDE, "outside"), (FRACTIONS, "fractions"))],
    Case("take", [(3, 2), Input(values=[0, 2], dtype="int32")], {"mode": "raise"}),
    Case("take", [(2, 3), Input(values=[[0, 2], [1, 1]])], {"axis": 1}),
    Case("take", [(2, 3, 2), Input(values=[[0, 2], [1, 1]])], {"axis": -2}),
    Case("take", [Input((3,), 0, 9, "int", "int32"), Input(values=[2, 0], dtype="uint8")]),
    Case("batch_take", [(3, 2), Input(values=[0, 5, -1], dtype="int32")], grad=False),
    Case("batch_take", [(3, 2), Input(values=[[1], [0], [1]], dtype="int32")], grad=False),
    Case("pick", [(2, 3), Input(values=[1, 2])]),
    Case("pick", [(2, 3), Input(values=[-1, 5])], note="outside"),
    Case("pick", [(2, 3), Input(values=[-1, 5])], {"mode": "wrap"}),
    Case("pick", [(2, 3), Input(values=[[1], [2]])], {"keepdims": True}),
    Case("pick", [(2, 3), Input(values=[[1], [2]])]),
    Case("pick", [(2, 3, 2), Input(values=[[0, 1], [2, 5]])], {"axis": 1, "keepdims": True}),
    Case("pick", [(2, 3), Input(values=[1, 0, 1], dtype="int32")], {"axis": 0}),
    Case("choose_element_0index", [(2, 3), Input(values=[1, 2])]),
    Case("Embedding", [Input(values=[0, -1, 7, 1.9]), (3, 2)],
         {"input_dim": 3, "output_dim": 2}, grad=[1]),
    Case("Embedding", [Input(values=[[0, 1], [1, 1]], dtype="int32"), (3, 2)],
         {"input_dim": 3, "output_dim": 2}),
    Case("Embedding", [Input(values=[0, 1], dtype="int32"), Input((3, 2), dtype="float64")],
         {"input_dim": 3, "output_dim": 2, "dtype": "float64"}),
    Case("one_hot", [Input(values=[0, 2, -1, 3, 1.7])], {"depth": 3}),
    Case("one_hot", [Input(values=[[0], [1]])],
         {"depth": 2, "on_value": 5, "off_value": -1, "dtype": "int32"}, grad=False),
    Case("one_hot", [Input(values=[1, 0], dtype="int32")], {"depth": 2, "dtype": "float64"}),
    Case("gather_nd", [(2, 3), Input(values=[[0, 1], [2, 0]])]),
    Case("gather_nd", [(2, 3), Input(values=[[-1, 1], [2, -1]])], grad=False, note="negative"),
    Case("gather_nd", [(2, 3), Input(values=[[0, 0], [1, 1]])], note="twice"),
    Case("gather_nd", [(2, 3), Input(values=[[0, 1]], dtype="int32")]),
    Case("scatter_nd", [(3,), Input(values=[[0, 1, 0], [1, 1, 1]])], {"shape": (2, 2)}),
    Case("scatter_nd", [(2, 3), Input(values=[[0, 2]])], {"shape": (3, 3)}),
    Case("_contrib_index_copy", [(4, 2), Input(values=[1, 3], dtype="int32"), (2, 2)]),
    Case("_ravel_multi_index", [PLACES], {"shape": (2, 3)}),
    Case("ravel_multi_index", [Input(values=[[0, 1], [2, 0]], dtype="int64")],
         {"shape": (-1, 3)}),
    Case("_unravel_index", [Input(values=[2, 3, 100])], {"shape": (-1, 3)}),
    Case("unravel_index", [Input(values=[2, 3, 1], dtype="int32")], {"shape": (2, 3)}),
    Case("_unravel_index", [Input(values=[7, -1])], {"shape": (2, 3)}),
    Case("_contrib_index_array", [(2, 3)]),
    Case("_contrib_index_array", [(2, 3)], {"axes": (1, 0)}),
    Case("_contrib_arange_like", [(2, 3)]),
    Case("_contrib_arange_like", [(2, 3)], {"axis": 1, "start": 5, "step": 0.5}),
    Case("_contrib_arange_like", [(2, 3)], {"axis": -2, "start": 5, "step": -2}),
    Case("_contrib_arange_like", [(2, 3)], {"repeat": 2}),
    Case("_contrib_arange_like", [Input((2, 3), dtype="float64")], {"step": 0.1}),
    Case("_contrib_arange_like", [Input((2, 3), 0, 9, "int", "int32")]),
    Case("_histogram", [Input(values=[-1, 0, 0.5, 1, 1.01, 2, 3])],
         {"bin_cnt": 3, "range": (0, 3)}, grad=False),
    Case("_histogram", [Input(values=[0, 1, 1.5, 2, 3, 9, -1]), Input(values=[0, 1, 2.5, 3])],
         grad=False),
    Case("_histogram", [Input(values=[0, 1, 2], dtype="int32")],
         {"bin_cnt": 2, "range": (0, 2)}, grad=False),
]  # fmt: skip

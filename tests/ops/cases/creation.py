"""Arrays made from parameters alone."""

from case import Case

CASES = [
    *(Case(n, attrs={"shape": (2, 3)}) for n in ("_zeros", "_ones")),
    *(
        Case(n, attrs={"shape": (2,), "dtype": d})
        for n in ("_zeros", "_ones")
        for d in ("float16", "float64", "int32", "int64", "uint8", "int8", "bool")
    ),
    Case("_zeros", attrs={"shape": 3}),
    Case("_ones", attrs={"shape": "(2,)", "ctx": "cpu(0)"}),
    Case("_full", attrs={"shape": (2, 3), "value": 2.7}),
    *(Case("_full", attrs={"shape": 2, "value": -2.7, "dtype": d}) for d in ("int32", "float64")),
    Case("_full", attrs={"shape": 2, "value": 1, "dtype": "bool"}),
    Case("_arange", attrs={"start": 3}),
    Case("_arange", attrs={"start": 1, "stop": 7, "step": 2, "repeat": 2}),
    Case("_arange", attrs={"start": 7, "stop": 1, "step": -2}),
    Case("_arange", attrs={"start": 0, "stop": 1, "step": 0.1}),
    Case("_arange", attrs={"start": 1.5, "stop": 3.4, "step": 0.3, "dtype": "int32"}),
    Case("_arange", attrs={"start": 1.5, "stop": 3.4, "step": 0.3, "dtype": "float64"}),
    Case("_arange", attrs={"start": 5, "dtype": "float16"}),
    Case("_arange", attrs={"start": 5, "dtype": "int64"}),
    Case("_arange", attrs={"start": 5, "stop": "None", "infer_range": "False"}),
    Case("_linspace", attrs={"start": 0, "stop": 1, "num": 5}),
    Case("_linspace", attrs={"start": 0, "stop": 1, "num": 5, "endpoint": False}),
    Case("_linspace", attrs={"start": 3, "stop": -1, "num": 4, "dtype": "float64"}),
    Case("_linspace", attrs={"start": 0, "stop": 5, "num": 4, "dtype": "int32"}),
    Case("_linspace", attrs={"start": 2, "stop": 5, "num": 1}),
    Case("_eye", attrs={"N": 2}),
    Case("_eye", attrs={"N": 3, "M": 2, "k": -1}),
    Case("_eye", attrs={"N": 3, "M": 4, "k": 1, "dtype": "int32"}),
]

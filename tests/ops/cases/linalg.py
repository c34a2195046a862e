"""Linear algebra on the last two axes."""

from case import Case, Input

SYMMETRIC = Input(values=[[4, 1, 0.5], [1, 3, -1], [0.5, -1, 5]])
ONE_SIDED = Input(values=[[4, 100], [1, 3]])
BATCH = Input(values=[[[4, 1], [1, 3]], [[2, -1], [-1, 5]]])
GENERAL = Input(values=[[2, 5, 1], [1, 3, -2], [0.5, 1, 4]])
SINGULAR = Input(values=[[1, 2], [2, 4]])
TRIANGULAR = [
    {"transpose": t, "rightside": r, "lower": l, "alpha": 2.0}
    for t in (False, True)
    for r in (False, True)
    for l in (False, True)
]

CASES = [
    Case("_linalg_gemm", [(2, 3), (3, 4), (2, 4)], {"alpha": 2.0, "beta": 3.0}),
    Case("_linalg_gemm", [(2, 3, 2), (2, 4, 3), (2, 2, 4)],
         {"transpose_a": True, "transpose_b": True}),
    Case("linalg_gemm", [(2, 4, 3), (3, 4, 2), (2, 4, 2)], {"axis": 0}),
    Case("_linalg_gemm2", [(2, 3), (3, 4)], {"alpha": 0.5}),
    Case("linalg_gemm2", [(2, 4, 3), (3, 4, 2)], {"axis": 0}),
    Case("_linalg_gemm2", [Input((3, 2), dtype="float64"), Input((3, 4), dtype="float64")],
         {"transpose_a": True}),
    Case("_linalg_syrk", [(2, 3)], {"alpha": 2.0}),
    Case("linalg_syrk", [(2, 2, 3)], {"transpose": True}),
    *[Case("_linalg_trmm", [GENERAL, (2, 3) if how["rightside"] else (3, 2)], how)
      for how in TRIANGULAR],
    *[Case("_linalg_trsm", [GENERAL, (2, 3) if how["rightside"] else (3, 2)], how)
      for how in TRIANGULAR],
    Case("linalg_trmm", [BATCH, (2, 2, 3)]),
    Case("linalg_trsm", [BATCH, (2, 2, 3)]),
    Case("_linalg_potrf", [SYMMETRIC]),
    Case("_linalg_potrf", [ONE_SIDED], note="one triangle"),
    Case("linalg_potrf", [BATCH]),
    Case("linalg_potrf", [Input(values=[[4, 1], [100, 3]])], {"lower": False}),
    Case("_linalg_potri", [GENERAL]),
    Case("linalg_potri", [GENERAL], {"lower": False}),
    Case("linalg_potri", [BATCH]),
    Case("_linalg_sumlogdiag", [SYMMETRIC]),
    Case("linalg_sumlogdiag", [BATCH]),
    Case("_linalg_gelqf", [Input(values=[[1, 2, 3], [4, 5, 7]])], rtol=1e-3, atol=1e-4),
    Case("linalg_gelqf", [Input(values=[[[-1, 2], [4, -5]], [[3, 1], [1, 2]]])],
         rtol=1e-3, atol=1e-4),
    Case("_linalg_syevd", [SYMMETRIC]),
    Case("_linalg_syevd", [ONE_SIDED], note="one triangle"),
    Case("_linalg_syevd", [BATCH]),
    Case("_linalg_inverse", [GENERAL]),
    Case("linalg_inverse", [BATCH]),
    Case("_linalg_det", [GENERAL]),
    Case("_linalg_det", [SINGULAR], note="singular"),
    Case("linalg_det", [BATCH]),
    Case("_linalg_slogdet", [GENERAL]),
    Case("_linalg_slogdet", [SINGULAR], note="singular"),
    Case("linalg_slogdet", [BATCH]),
    *[Case("_linalg_extractdiag", [(2, 3, 3)], {"offset": k}) for k in (-1, 0, 2)],
    *[Case("_linalg_makediag", [(2, 3)], {"offset": k}) for k in (-1, 0, 2)],
    *[Case("_linalg_extracttrian", [(2, 4, 4)], {"offset": k, "lower": lower})
      for k, lower in ((-1, True), (0, True), (0, False), (2, True))],
    *[Case("_linalg_maketrian", [(2, 6)], {"offset": k, "lower": lower})
      for k, lower in ((-1, True), (0, True), (0, False), (1, False))],
]  # fmt: skip

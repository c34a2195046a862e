"""Tables of dropped names, by module, and the paths of their replacements."""

from __future__ import annotations

_OWN = "modkit.compat.shims.functions"
_COLLECTIONS = (
    "Awaitable Callable Collection Container Coroutine Generator Hashable ItemsView Iterable "
    "Iterator KeysView Mapping MappingView MutableMapping MutableSequence MutableSet Reversible "
    "Sequence Set Sized ValuesView"
)
_NUMPY_ALIASES = {
    "PINF": "inf", "Inf": "inf", "Infinity": "inf", "infty": "inf", "NaN": "nan", "NAN": "nan",
    "bool8": "bool_", "int0": "intp", "uint0": "uintp", "object0": "object_", "str0": "str_",
    "bytes0": "bytes_", "void0": "void", "float_": "float64", "cfloat": "complex128",
    "complex_": "complex128", "singlecomplex": "complex64", "longfloat": "longdouble",
    "clongfloat": "clongdouble", "longcomplex": "clongdouble", "string_": "bytes_",
    "unicode_": "str_", "product": "prod", "cumproduct": "cumprod", "alltrue": "all",
    "sometrue": "any", "round_": "round", "mat": "asmatrix", "rank": "ndim", "in1d": "isin",
    "trapz": "trapezoid", "row_stack": "vstack", "issubsctype": "issubdtype",
}  # fmt: skip

NAMES: dict[str, dict[str, str]] = {
    "numpy": {
        **{old: f"numpy.{new}" for old, new in _NUMPY_ALIASES.items()},
        "float": "builtins.float",
        "int": "builtins.int",
        "bool": "builtins.bool",
        "object": "builtins.object",
        "str": "builtins.str",
        "unicode": "builtins.str",
        "long": "builtins.int",
        "complex": "builtins.complex",
        "NINF": f"{_OWN}.NINF",
        "PZERO": f"{_OWN}.PZERO",
        "NZERO": f"{_OWN}.NZERO",
        "asscalar": f"{_OWN}.asscalar",
        "alen": f"{_OWN}.alen",
        "asfarray": f"{_OWN}.asfarray",
        "cast": f"{_OWN}.CASTS",
        "find_common_type": f"{_OWN}.find_common_type",
        "msort": f"{_OWN}.msort",
    },
    "time": {"clock": "time.process_time"},
    "collections": {name: f"collections.abc.{name}" for name in _COLLECTIONS.split()},
    "fractions": {"gcd": "math.gcd"},
    "inspect": {"getargspec": f"{_OWN}.getargspec"},
    "base64": {"encodestring": "base64.encodebytes", "decodestring": "base64.decodebytes"},
    "cgi": {"escape": "html.escape"},
    "os": {"errno": "errno"},
    "platform": {"dist": f"{_OWN}.dist", "linux_distribution": f"{_OWN}.dist"},
    "PIL.Image": {
        "ANTIALIAS": "PIL.Image.LANCZOS",
        "LINEAR": "PIL.Image.BILINEAR",
        "CUBIC": "PIL.Image.BICUBIC",
    },
    "scipy": {"interp": "numpy.interp"},
    "scipy.misc": {
        "imread": "modkit.compat.shims.pictures.imread",
        "imsave": "modkit.compat.shims.pictures.imsave",
        "imresize": "modkit.compat.shims.pictures.imresize",
        "toimage": "modkit.compat.shims.pictures.toimage",
        "comb": "scipy.special.comb",
        "factorial": "scipy.special.factorial",
        "logsumexp": "scipy.special.logsumexp",
    },
    "scipy.ndimage": {"imread": "modkit.compat.shims.pictures.imread"},
    "scipy.signal": {"gaussian": "scipy.signal.windows.gaussian"},
}
"""Replacements of dropped names. A name that the module still has stays as it is."""

METHODS: dict[str, dict[str, str]] = {
    "numpy.ndarray": {
        "tostring": f"{_OWN}.tostring",
        "ptp": f"{_OWN}.ptp",
        "itemset": f"{_OWN}.itemset",
        "newbyteorder": f"{_OWN}.newbyteorder",
    },
    "numpy.generic": {"tostring": f"{_OWN}.tostring", "newbyteorder": f"{_OWN}.newbyteorder"},
    "threading.Thread": {"isAlive": "threading.Thread.is_alive"},
}
"""Replacements of dropped methods, by class."""

MODULES: dict[str, str] = {
    "imp": f"{_OWN.rpartition('.')[0]}.modules.imp",
    "distutils": f"{_OWN.rpartition('.')[0]}.modules.distutils",
    "distutils.dir_util": f"{_OWN.rpartition('.')[0]}.modules.distutils.dir_util",
    "distutils.spawn": f"{_OWN.rpartition('.')[0]}.modules.distutils.spawn",
    "distutils.util": f"{_OWN.rpartition('.')[0]}.modules.distutils.util",
    "distutils.version": f"{_OWN.rpartition('.')[0]}.modules.distutils.version",
    "pipes": "shlex",
    "scipy.misc": "modkit.compat.shims.pictures",
    "sklearn.cross_validation": "sklearn.model_selection",
    "sklearn.externals.joblib": "joblib",
}
"""Replacements of dropped modules. A module that can still be imported stays as it is."""

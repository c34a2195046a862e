"""Tables of dropped names, by module, and the paths of their replacements."""

from __future__ import annotations

_SHIMS = "modkit.compat.shims"
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


def _in(module: str, *names: str) -> dict[str, str]:
    """Names that a module has under the same names."""
    return {name: f"{module}.{name}" for name in names}


def _own(*names: str) -> dict[str, str]:
    return _in(f"{_SHIMS}.functions", *names)


NAMES: dict[str, dict[str, str]] = {
    "numpy": {
        **{old: f"numpy.{new}" for old, new in _NUMPY_ALIASES.items()},
        **_in("builtins", "float", "int", "bool", "object", "str", "complex"),
        "unicode": "builtins.str",
        "long": "builtins.int",
        **_own("NINF", "PZERO", "NZERO", "asscalar", "alen", "asfarray", "find_common_type"),
        **_own("msort"),
        **_in("numpy.exceptions", "AxisError", "ComplexWarning", "RankWarning"),
        **_in("numpy.exceptions", "VisibleDeprecationWarning"),
        "cast": f"{_SHIMS}.functions.CASTS",
    },
    "numpy.lib": {"pad": "numpy.pad"},
    "time": {"clock": "time.process_time"},
    "collections": _in("collections.abc", *_COLLECTIONS.split()),
    "fractions": {"gcd": "math.gcd"},
    "inspect": _own("getargspec"),
    "base64": {"encodestring": "base64.encodebytes", "decodestring": "base64.decodebytes"},
    "cgi": {"escape": "html.escape"},
    "configparser": {"SafeConfigParser": "configparser.ConfigParser"},
    "locale": {"format": "locale.format_string"},
    "os": {"errno": "errno"},
    "platform": _own("dist") | {"linux_distribution": f"{_SHIMS}.functions.dist"},
    "PIL.Image": {
        "ANTIALIAS": "PIL.Image.LANCZOS",
        "LINEAR": "PIL.Image.BILINEAR",
        "CUBIC": "PIL.Image.BICUBIC",
    },
    "scipy": {"interp": "numpy.interp"},
    "scipy.integrate": {
        "cumtrapz": "scipy.integrate.cumulative_trapezoid",
        "simps": "scipy.integrate.simpson",
        "trapz": "scipy.integrate.trapezoid",
    },
    "scipy.misc": {
        **_in(f"{_SHIMS}.pictures", "imread", "imsave", "imresize", "toimage"),
        **_in("scipy.special", "comb", "factorial", "logsumexp"),
    },
    "scipy.ndimage": _in(f"{_SHIMS}.pictures", "imread"),
    "scipy.signal": _in("scipy.signal.windows", "gaussian"),
}
"""Replacements of dropped names. A name that the module still has stays as it is."""

METHODS: dict[str, dict[str, str]] = {
    "numpy.ndarray": _own("tostring", "ptp", "itemset", "newbyteorder"),
    "numpy.generic": _own("tostring", "newbyteorder"),
    "threading.Thread": {"isAlive": "threading.Thread.is_alive"},
    "array.array": {"tostring": "array.array.tobytes", "fromstring": "array.array.frombytes"},
    "configparser.RawConfigParser": {"readfp": "configparser.RawConfigParser.read_file"},
}
"""Replacements of dropped methods, by class."""

MODULES: dict[str, str] = {
    **_in(f"{_SHIMS}.modules", "imp", "distutils", "distutils.dir_util", "distutils.spawn"),
    **_in(f"{_SHIMS}.modules", "distutils.util", "distutils.version"),
    "pipes": "shlex",
    "scipy.misc": f"{_SHIMS}.pictures",
    "sklearn.cross_validation": "sklearn.model_selection",
    "sklearn.externals.joblib": "joblib",
}
"""Replacements of dropped modules. A module that can still be imported stays as it is."""

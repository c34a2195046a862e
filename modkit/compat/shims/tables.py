"""Tables of dropped names, by module, and the paths of their replacements."""

from __future__ import annotations

import numpy as np

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
    "typeDict": "sctypeDict",
}  # fmt: skip
_WINDOWS = (
    "barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine flattop gaussian "
    "general_gaussian hamming hann kaiser nuttall parzen triang tukey"
)
_PLOTS = {"grid": {"b": "visible"}, "hist": {"normed": "density"}}
_ASSERTIONS = {
    "assert_": "assertTrue", "assertEquals": "assertEqual", "assertNotEquals": "assertNotEqual",
    "assertAlmostEquals": "assertAlmostEqual", "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assertRaisesRegexp": "assertRaisesRegex", "assertRegexpMatches": "assertRegex",
    "assertNotRegexpMatches": "assertNotRegex", "assertItemsEqual": "assertCountEqual",
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
        "chararray": "numpy.char.chararray",
        "disp": "builtins.print",
        "loads": "pickle.loads",
        "math": "math",
        "warnings": "warnings",
        **{f"ndarray.{name}": f"{_SHIMS}.functions.{name}" for name in ("ptp", "itemset")},
        **{
            f"{cls}.{name}": f"{_SHIMS}.functions.{name}"
            for cls in ("ndarray", "generic")
            for name in ("tostring", "newbyteorder")
        },
    },
    "numpy.lib": {"pad": "numpy.pad"},
    "numpy.linalg": {"linalg": "numpy.linalg"},
    "array": {
        "array.tostring": "array.array.tobytes",
        "array.fromstring": "array.array.frombytes",
    },
    "asyncio": _own("coroutine"),
    "base64": {"encodestring": "base64.encodebytes", "decodestring": "base64.decodebytes"},
    "cgi": {"escape": f"{_SHIMS}.modules.cgi.escape"},
    "collections": _in("collections.abc", *_COLLECTIONS.split()),
    "configparser": {
        "SafeConfigParser": "configparser.ConfigParser",
        "RawConfigParser.readfp": "configparser.RawConfigParser.read_file",
    },
    "fractions": {"gcd": "math.gcd"},
    "inspect": _own("getargspec"),
    "locale": {"format": "locale.format_string"},
    "matplotlib.cm": {
        "get_cmap": "matplotlib.pyplot.get_cmap",
        "spectral": "matplotlib.cm.nipy_spectral",
    },
    "os": {"errno": "errno"},
    "platform": _own("dist") | {"linux_distribution": f"{_SHIMS}.functions.dist"},
    "threading": {"Thread.isAlive": "threading.Thread.is_alive"},
    "time": {"clock": "time.process_time"},
    "unittest": {
        "makeSuite": "unittest.defaultTestLoader.loadTestsFromTestCase",
        **{f"TestCase.{old}": f"unittest.TestCase.{new}" for old, new in _ASSERTIONS.items()},
    },
    "xml.etree.ElementTree": {
        "Element.getchildren": "builtins.list",
        "Element.getiterator": "xml.etree.ElementTree.Element.iter",
        "ElementTree.getiterator": "xml.etree.ElementTree.ElementTree.iter",
    },
    "PIL": {"PILLOW_VERSION": "PIL.__version__"},
    "PIL.Image": {
        "ANTIALIAS": "PIL.Image.LANCZOS",
        "LINEAR": "PIL.Image.BILINEAR",
        "CUBIC": "PIL.Image.BICUBIC",
        "fromstring": "PIL.Image.frombytes",
        "Image.tostring": "PIL.Image.Image.tobytes",
    },
    "PIL.ImageDraw": {"ImageDraw.textsize": f"{_SHIMS}.pictures.textsize"},
    "PIL.ImageFont": {"FreeTypeFont.getsize": f"{_SHIMS}.pictures.getsize"},
    "scipy": {
        **_in("numpy", *(name for name in np.__all__ if callable(vars(np).get(name)))),
        **_in("numpy.emath", "arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn"),
        **_in("numpy.emath", "power", "sqrt"),
        **_in("numpy.random", "rand", "randn"),
    },
    "scipy.integrate": {
        "cumtrapz": "scipy.integrate.cumulative_trapezoid",
        "simps": "scipy.integrate.simpson",
        "trapz": "scipy.integrate.trapezoid",
    },
    "scipy.linalg": _in("numpy", "kron", "tri", "tril", "triu"),
    "scipy.misc": {
        **_in(f"{_SHIMS}.pictures", "imread", "imsave", "imresize", "imrotate", "toimage"),
        **_in("scipy.special", "comb", "factorial", "logsumexp"),
    },
    "scipy.ndimage": _in(f"{_SHIMS}.pictures", "imread"),
    "scipy.signal": _in("scipy.signal.windows", *_WINDOWS.split()),
}
"""Replacements of dropped names, and of methods as ``Class.name``.

A name that the module still has stays as it is.
"""

KEYWORDS: dict[str, dict[str, dict[str, str]]] = {
    "json": {"load": {"encoding": ""}, "loads": {"encoding": ""}},
    "matplotlib": {"use": {"warn": ""}},
    "matplotlib.axes": {f"Axes.{name}": keywords for name, keywords in _PLOTS.items()},
    "matplotlib.pyplot": _PLOTS,
    "numpy": {
        **{f"histogram{kind}": {"normed": "density"} for kind in ("", "2d", "dd")},
        **{
            f"{kind}{name}": {"interpolation": "method"}
            for kind in ("", "nan")
            for name in ("percentile", "quantile")
        },
        "reshape": {"newshape": "shape"},
    },
}
"""Keywords of functions that were renamed, or that are ignored (the new name is empty)."""

MODULES: dict[str, str] = {
    **_in(f"{_SHIMS}.modules", "imp", "distutils", "distutils.dir_util", "distutils.spawn"),
    **_in(f"{_SHIMS}.modules", "distutils.util", "distutils.version", "imghdr", "cgi"),
    "numpy.linalg.linalg": "numpy.linalg",
    "numpy.testing.utils": "numpy.testing",
    "pipes": "shlex",
    "scipy.misc": f"{_SHIMS}.pictures",
    **dict.fromkeys(
        ("sklearn.cross_validation", "sklearn.grid_search", "sklearn.learning_curve"),
        "sklearn.model_selection",
    ),
    "sklearn.externals.joblib": "joblib",
}
"""Replacements of dropped modules. A module that can still be imported stays as it is."""
